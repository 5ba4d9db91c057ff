//! `vlflab sql --plan`: the plan of a query, executed or not, as a tree and as an XML document.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::Command;

/// A folder that is gone with the test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn sql(folder: &Folder, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_vlflab"))
        .args(["sql", "--data"])
        .arg(&folder.0)
        .args(arguments)
        .output()
        .unwrap();
    let (text, errors) = (
        String::from_utf8(output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{arguments:?}: {errors}{text:?}");
    text.unwrap()
}

#[test]
fn a_plan_is_drawn_with_what_came_of_it() {
    let folder = Folder(std::env::temp_dir().join(format!("vlflab-plan-{}", std::process::id())));
    let setup = "set nocount on create table t (a int not null constraint pk_t primary key, b int) declare @i int = 0 \
        while @i < 200 begin insert t values (@i, @i % 10) set @i += 1 end";
    sql(&folder, &["-Q", setup]);
    let query = "select b, count(*) n from t where a < 50 group by b order by n";
    let drawn = sql(&folder, &["--plan", "-Q", query]);
    let lines: Vec<&str> = drawn.lines().collect();
    assert_eq!(lines[0], query, "{drawn}");
    assert!(lines[1].ends_with("ms on a processor"), "{drawn}");
    assert!(
        lines[2].trim_start().starts_with("rows  expected  times  ms  reads"),
        "{drawn}"
    );
    assert!(lines[3].starts_with("Sort  by Expr"), "{drawn}");
    let seek = lines
        .iter()
        .find(|line| line.contains("Clustered Index Seek  t.pk_t  a < (50)"));
    let figures: Vec<&str> = seek
        .unwrap_or_else(|| panic!("{drawn}"))
        .split_whitespace()
        .rev()
        .take(5)
        .collect();
    assert_eq!((figures[4], figures[2]), ("50", "1"), "fifty rows, once: {drawn}");
    assert!(figures[0].parse::<u32>().unwrap() >= 1, "pages: {drawn}");
    assert!(!drawn.contains("rows affected"), "no rows are printed: {drawn}");

    // Names of system views lost the brackets at their ends alone: `sys].[tables`.
    let system = sql(&folder, &["--plan", "-Q", "select name from sys.tables order by name"]);
    assert!(system.contains("Table-valued function  sys.tables"), "{system}");
    let document = sql(
        &folder,
        &["--plan=xml", "-Q", "select name from sys.tables order by name"],
    );
    assert!(
        document.contains("<Object Schema=\"[sys]\" Table=\"[tables]\"/>"),
        "{document}"
    );

    // What is not run changes nothing.
    let estimated = sql(&folder, &["--plan", "--estimated", "-Q", "delete t"]);
    assert!(
        estimated.contains("Clustered Index Delete") && estimated.contains("expected"),
        "{estimated}"
    );
    let left = sql(&folder, &["-W", "-h", "-1", "-Q", "select count(*) from t"]);
    assert!(left.starts_with("200\n"), "{left}");

    let document = sql(&folder, &["--plan=xml", "-Q", query]);
    assert!(
        document.starts_with("<ShowPlanXML ") && document.contains("ActualRows=\"50\""),
        "{document}"
    );
}
