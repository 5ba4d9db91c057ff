//! What `:help` prints.

pub(super) const COMMANDS: &str = "\
GO [n]                   run what was typed, n times
:r FILE                  read T-SQL and commands from a file
:connect SERVER[,PORT] [-U LOGIN] [-P PASSWORD] [-d DATABASE] [-l SECONDS] [-N[s|m|o]] [-C] [-F NAME] [-J FILE]
                         connect to a server; without anything, to the last one again
:out FILE|stdout|stderr  where rows and messages go
:error FILE|stdout|stderr  where errors go
:list                    print what was typed since the last GO
:reset                   forget it
:ed                      edit it, or the last batch (SQLCMDEDITOR, VISUAL, EDITOR)
:setvar NAME [VALUE]     set the variable that $(NAME) stands for, or forget it
:listvar                 print the variables
:on error exit|ignore    what an error does
:xml on|off              print FOR XML as one text
:vertical [on|off]       a line for each value
:format FORMAT           auto, horizontal, vertical, fit, ascii, json, csv or md
:timing on|off           print what each batch took
!! COMMAND               run a command of the system
:exit, :quit             leave; exit(QUERY) with the value of its last row as exit code

Tab completes keywords, commands and the names of databases, tables and columns. Up and Down go through the batches of this and
earlier sessions, Ctrl-R searches them. Ctrl-C stops the running batch, or forgets what was typed; Ctrl-D leaves.";
