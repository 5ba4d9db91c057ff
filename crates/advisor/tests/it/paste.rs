//! Pasted layouts, in every form in which output of `DBCC LOGINFO` and `sys.dm_db_log_info` is published.

use advisor::pasted::{Choice, layout_from_text};
use vlf::LogLayout;
use vlf::ServerVersion::V2022;

const KB: u64 = 1024;

fn read(text: &str) -> LogLayout {
    layout_from_text(text, V2022, Choice::default()).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

fn refused(text: &str) -> String {
    layout_from_text(text, V2022, Choice::default())
        .unwrap_err()
        .to_string()
}

/// The 1,040 KB log that the outputs below show.
fn expected() -> LogLayout {
    LogLayout::create(V2022, 1040 * KB).unwrap()
}

/// sqlcmd with its prompts, as a transcript of a session has them.
#[test]
fn sqlcmd_with_prompts() {
    let text = "1> dbcc loginfo
2> go
RecoveryUnitId FileId      FileSize             StartOffset          FSeqNo      Status      Parity CreateLSN
-------------- ----------- -------------------- -------------------- ----------- ----------- ------ ---------------------------------------
             0           2               262144                 8192          33           2     64                                       0
             0           2               262144               270336           0           0      0                                       0
             0           2               262144               532480           0           0      0                                       0
             0           2               270336               794624           0           0      0                                       0

(4 rows affected)
DBCC execution completed. If DBCC printed error messages, contact your system administrator.
1> ";
    assert_eq!(read(text), expected());
    // Fed from a pipe, the prompts stand before the heading.
    let piped = text.replace("1> dbcc loginfo\n2> go\n", "1> 2> ");
    assert_eq!(read(&piped), expected());
}

/// Without -w, sqlcmd breaks lines at 80 characters, rulers and headings too.
#[test]
fn sqlcmd_breaks_lines() {
    let text = "RecoveryUnitId FileId      FileSize             StartOffset          FSeqNo     
 Status      Parity CreateLSN                               
-------------- ----------- -------------------- -------------------- -----------
 ----------- ------ ----------------------------------------
             0           2               262144                 8192          33
           2     64                                        0
             0           2               262144               270336           0
           0      0                                        0
             0           2               262144               532480           0
           0      0                                        0
             0           2               270336               794624           0
           0      0                                        0

(4 rows affected)";
    assert_eq!(read(text), expected());
    let cut = &text[..text.rfind("           0      0").unwrap()];
    assert!(refused(cut).contains("cut off"), "{}", refused(cut));
}

#[test]
fn format_list_of_powershell() {
    let row = |size: u64, offset: u64| {
        format!(
            "RecoveryUnitId : 0\nFileId         : 2\nFileSize       : {size}\nStartOffset    : {offset}\nFSeqNo         : 33\n\
             Status         : 2\nParity         : 64\nCreateLSN      : 0\n"
        )
    };
    let rows = [
        (262_144, 8192),
        (262_144, 270_336),
        (262_144, 532_480),
        (270_336, 794_624),
    ];
    let text: Vec<String> = rows.iter().map(|(size, offset)| row(*size, *offset)).collect();
    assert_eq!(read(&text.join("\n")), expected());
    // dbatools puts names of machines in front, and psql-like clients draw rulers.
    let named = text
        .join("\n")
        .replace("RecoveryUnitId :", "ComputerName   : DB1\nRecoveryUnitId :");
    assert_eq!(read(&named), expected());
    let records: Vec<String> = text
        .iter()
        .enumerate()
        .map(|(n, row)| format!("-[ RECORD {} ]---\n{}", n + 1, row.replace(':', "|")))
        .collect();
    assert_eq!(read(&records.concat()), expected());
}

#[test]
fn tables_of_html_and_xml() {
    let html = "<p>Our log:</p><table border=1><thead><tr><th>FileId</th><th>FileSize</th><th><b>StartOffset</b></th></tr></thead>
        <tr><td>2</td><td align=\"right\">262,144</td><td>8,192</td></tr><tr><td>2</td><td>262,144</td><td>270,336</td></tr>
        <tr><td>2</td><td>262&nbsp;144</td><td>532&#160;480</td></tr><TR><TD>2</TD><TD>270144</TD><TD>794624</TD></TR></table>";
    assert_eq!(read(&html.replace("270144", "270336")), expected());
    let raw = "<row FileId=\"2\" FileSize=\"262144\" StartOffset=\"8192\"/><row FileId=\"2\" FileSize=\"262144\" StartOffset=\"270336\"/>
        <row FileId=\"2\" FileSize=\"262144\" StartOffset=\"532480\"/><row FileId=\"2\" FileSize=\"270336\" StartOffset=\"794624\"/>";
    assert_eq!(read(raw), expected());
    let path = "<vlfs><row><file_id>2</file_id><vlf_begin_offset>8192</vlf_begin_offset><vlf_size_mb>0.24</vlf_size_mb></row>
        <row><file_id>2</file_id><vlf_begin_offset>262144</vlf_begin_offset><vlf_size_mb>0.24</vlf_size_mb></row></vlfs>";
    assert_eq!(read(path).file_bytes(), 516_096);
}

/// Separators between thousands and decimal commas, under every separator of columns.
#[test]
fn numbers_of_other_languages() {
    let semicolons =
        "file_id;vlf_begin_offset;vlf_size_mb\n2;8.192;1,93\n2;2.039.808;1,93\n2;4.071.424;1,93\n2;6.103.040;2,17";
    let default = LogLayout::create(V2022, 8 << 20).unwrap();
    assert_eq!(read(semicolons), default);
    assert_eq!(read(&semicolons.replace(';', "\t")), default);
    let quoted = "\"FileId\",\"FileSize\",\"StartOffset\"\n\"2\",\"262,144\",\"8,192\"\n\"2\",\"262,144\",\"270,336\"\n\
                  \"2\",\"262,144\",\"532,480\"\n\"2\",\"270,336\",\"794,624\"";
    assert_eq!(read(quoted), expected());
    // A decimal comma among commas makes one cell too many, with a heading and without.
    let rows = [
        (8192, "1,93"),
        (2_039_808, "1,93"),
        (4_071_424, "1,93"),
        (6_103_040, "2,17"),
    ];
    let bare: Vec<String> = rows
        .iter()
        .map(|(offset, mb)| format!("5,2,{offset},{mb},43,1,2,64,0000002b:00000010:0001,0"))
        .collect();
    assert_eq!(read(&bare.join("\n")), default);
    let heading = "database_id,file_id,vlf_begin_offset,vlf_size_mb,vlf_sequence_number,vlf_active,vlf_status,vlf_parity,\
                   vlf_first_lsn,vlf_create_lsn\n";
    assert_eq!(read(&format!("{heading}{}", bare.join("\n"))), default);
    // Thousands in unquoted commas cannot be told from columns.
    assert!(refused("FileId,FileSize,StartOffset\n2,262,144,8,192").contains("quote"));
}

#[test]
fn drawn_tables() {
    let markdown =
        "| FileId | FileSize | StartOffset |\n|---:|---:|---:|\n| 2 | 253952 | 8192 |\n| 2 | 253952 | 262144 |";
    assert_eq!(read(markdown).file_bytes(), 516_096);
    let drawn = "┌────────┬──────────┬─────────────┐\n│ FileId │ FileSize │ StartOffset │\n├────────┼──────────┼─────────────┤\n\
                 │      2 │   253952 │        8192 │\n│      2 │   253952 │      262144 │\n└────────┴──────────┴─────────────┘";
    assert_eq!(read(drawn).file_bytes(), 516_096);
    let plus = "+--------+----------+-------------+\n| FileId | FileSize | StartOffset |\n+--------+----------+-------------+\n\
                | 2      | 253952   | 8192        |\n| 2      | 253952   | 262144      |\n+--------+----------+-------------+";
    assert_eq!(read(plus).file_bytes(), 516_096);
}

#[test]
fn json_of_other_tools() {
    let rows = r#"[{"FileId":2,"FileSize":253952,"StartOffset":8192},{"FileId":2,"FileSize":"253952","StartOffset":"262144"}]"#;
    assert_eq!(read(rows).file_bytes(), 516_096);
    assert_eq!(read(&format!("{{\"log\":{rows}}}")).file_bytes(), 516_096);
}

/// Rows of two databases gave a log of 0 bytes.
#[test]
fn several_logs_in_one_paste() {
    let view = "database_id,file_id,vlf_begin_offset,vlf_size_mb\n5,2,8192,0.24\n5,2,262144,0.24\n7,2,8192,0.24\n7,2,262144,0.49\n7,3,8192,0.24\n7,3,262144,0.24";
    let error = refused(view);
    for part in [
        "rows of 3 logs",
        "--from-log",
        "1 = database 5, file 2, 2 VLFs; 2 = database 7, file 2, 2 VLFs; 3 = database 7, file 3",
    ] {
        assert!(error.contains(part), "no {part} in {error}");
    }
    let pick = |text: &str, log, file_id| layout_from_text(text, V2022, Choice { file_id, log });
    assert_eq!(pick(view, Some(1), None).unwrap().file_bytes(), 516_096);
    assert_eq!(pick(view, Some(2), None).unwrap().file_bytes(), 262_144 + 516_096);
    assert_eq!(pick(view, None, Some(3)).unwrap().file_bytes(), 516_096);
    assert!(
        pick(view, None, Some(2))
            .unwrap_err()
            .to_string()
            .contains("--from-log")
    );
    assert!(
        pick(view, Some(4), None)
            .unwrap_err()
            .to_string()
            .contains("no such log")
    );
    // Two outputs of DBCC LOGINFO, one after another: nothing names the database.
    let heading = "FileId FileSize StartOffset FSeqNo Status Parity CreateLSN\n";
    let first = "2 253952 8192 33 2 64 0\n2 253952 262144 0 0 0 0\n";
    let second = "2 262144 8192 41 2 64 0\n2 270336 270336 0 0 0 0\n";
    let both = format!("{heading}{first}{heading}{second}");
    assert!(refused(&both).contains("rows of 2 logs"));
    assert_eq!(pick(&both, Some(2), None).unwrap().file_bytes(), 540_672);
    // A heading repeated by sqlcmd -h begins no other log.
    let repeated = format!("{heading}2 253952 8192 33 2 64 0\n{heading}2 253952 262144 0 0 0 0\n");
    assert_eq!(read(&repeated).vlf_count(), 2);
}

#[test]
fn what_is_missing_is_named() {
    assert!(
        refused("FileId FSeqNo Status Parity\n2 33 2 64").contains("StartOffset (DBCC LOGINFO) or vlf_begin_offset")
    );
    assert!(refused("file_id vlf_begin_offset vlf_active\n2 8192 1").contains("vlf_size_mb"));
    assert!(
        refused("Name : Sales\nSize : 5 MB\n\nnothing else").contains("expected are rows"),
        "{}",
        refused("Name : Sales\nSize : 5 MB\n\nnothing else")
    );
    assert!(refused("FileId;FileSize;StartOffset\n2;-5;8192").contains("'-5' is not a number"));
}
