# Runs HammerDB's own TPROC-C program without HammerDB's windows and threads, for benches/tprocc.py.
#
#   tclsh tprocc.tcl FOLDER build|drive mssqls|pg UNTIL NAME VALUE ...
#
# HammerDB keeps its programs as text that it shows in an editor before it runs them. Here that editor keeps the text, which then runs as it is.
# The settings are those of HammerDB's dialogs. `build` runs to its end. `drive` ends before the first transaction at or after UNTIL, in seconds since
# 1970, and prints how many transactions of each kind it has run, how many failed, and the words of the first that did.

lassign $argv folder work database until
foreach {name value} [lrange $argv 4 end] {
    set settings($name) $value
}
foreach {name value} {dbdict {} configmssqlserver {} configpostgresql {}} {
    set $name $value
}
array set _ED {}
set program ""

# What HammerDB's files expect around them.
proc .ed_mainFrame.mainwin.textFrame.left.text {command place text} {
    append ::program $text
}
proc .ed_mainFrame.notebook {args} {}
proc ed_edit_clear {} {}
proc load_virtual {} {}
proc tk_messageBox {args} {
    return yes
}
proc quotemeta {text} {
    return [regsub -all {[^[:alnum:]]} $text {\\&}]
}
proc setlocaltpccvars {dialog} {
    foreach name [array names ::settings] {
        uplevel 1 [list set $name $::settings($name)]
    }
}
# `drive` ends by the clock and not by this flag.
namespace eval tsv {
    proc get {args} {
        return 0
    }
}

# Debian's Pgtcl has none; notices are not asked for.
proc pg_notice_handler {args} {}

array set counts {{new order} 0 payment 0 delivery 0 {stock level} 0 {order status} 0 failed 0}
set first_failure ""

proc report {} {
    set parts {}
    foreach name [lsort [array names ::counts]] {
        lappend parts "$name=$::counts($name)"
    }
    print [join $parts ","]
    print $::first_failure
    exit 0
}

# HammerDB says each transaction before it runs it, its answer afterwards, and why it failed.
proc note {line} {
    if {[info exists ::counts($line)]} {
        if {[clock seconds] >= $::until} {
            report
        }
        incr ::counts($line)
    } elseif {[string match "*Error set RAISEERROR*" $line] || ($::database eq "mssqls" && [string match "* : *" $line])} {
        incr ::counts(failed)
        if {$::first_failure eq ""} {
            set ::first_failure [string map {\n " "} $line]
        }
    }
}

::tcl::tm::path add [file join $folder modules]
switch $database {
    mssqls {
        source [file join $folder src mssqlserver mssqlsoltp.tcl]
        set script [expr {$work eq "build" ? "build_mssqlstpcc" : "loadmssqlstpcc"}]
    }
    pg {
        source [file join $folder src postgresql pgoltp.tcl]
        set script [expr {$work eq "build" ? "build_pgtpcc" : "loadpgtpcc"}]
    }
}
$script
if {$work eq "drive"} {
    rename puts print
    proc puts {args} {
        note [lindex $args end]
    }
}
# HammerDB loads SQL Server's tables with a commit for every second row. Here each of its procedures that load is one transaction.
if {$work eq "build" && $database eq "mssqls"} {
    set call [string last "\ndo_tpcc " $program]
    eval [string range $program 0 $call]
    set program [string range $program $call end]
    foreach loader {LoadItems Stock District Customer Orders} {
        rename $loader rows_of_$loader
        proc $loader {odbc args} [string map [list @ rows_of_$loader] {
            $odbc evaldirect "begin transaction"
            @ $odbc {*}$args
            $odbc evaldirect "commit transaction"
        }]
    }
}
eval $program
