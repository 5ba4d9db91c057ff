//! Northwind and pubs as SQL Server wrote them, against the scripts that make them, run here: every row of every table. `VLFLAB_GENUINE_DIR` names a
//! folder with backups and data files, `VLFLAB_SAMPLE_SCRIPTS` one with `instnwnd.sql` and `instpubs.sql`; without them the test says so and passes.
//!
//! A dozen published queries have their published answers on every file that is what its script makes, and on what the script has made.
//!
//! Owners have changed some of the files, and each difference is printed. One file of each sample at least has what its script makes, apart from
//! what a copy of the script lost (line ends, letters beyond ASCII) and from columns that default to the time it ran.
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A sample database: its script, the database that the script fills, and what names of its files have in them.
struct Sample {
    script: &'static str,
    database: &'static str,
    named: [&'static str; 2],
}

const SAMPLES: [Sample; 2] = [
    Sample {
        script: "instnwnd.sql",
        database: "northwind_of_script",
        named: ["northw", "nwnd"],
    },
    Sample {
        script: "instpubs.sql",
        database: "pubs",
        named: ["pubs", "pubs"],
    },
];

/// A published query: what it asks, in columns a, b, c, and its published answer, `a|b|c` for each row.
struct Published {
    database: &'static str,
    query: &'static str,
    answer: &'static [&'static str],
}

/// Sources, by their order: Microsoft, "Generating Summary Rows: COMPUTE BY" (SQL Server 7.0), for the first four; Sybase, "Row aggregates and compute",
/// for the next three; and of Northwind the table of rows in `ndleah/northwind`, the average price in `salimstephen/Data_Science_Learning_Journey`,
/// the orders of employees in "Showcase: Northwind Traders Company", the first orders and the first detail in `chrisduignan97/Data-Analysis-Projects`.
const PUBLISHED: [Published; 12] = [
    Published {
        database: "pubs",
        query: "SELECT CONVERT(varchar, price) a, CONVERT(varchar, advance) b FROM {db}.dbo.titles WHERE type = 'business' ORDER BY price, advance DESC",
        answer: &["2.99|10125.00", "11.95|5000.00", "19.99|5000.00", "19.99|5000.00"],
    },
    Published {
        database: "pubs",
        query: "SELECT CONVERT(varchar, SUM(price)) a, CONVERT(varchar, SUM(advance)) b FROM {db}.dbo.titles WHERE type = 'business'",
        answer: &["54.92|25125.00"],
    },
    Published {
        database: "pubs",
        query: "SELECT CONVERT(varchar, price) a, CONVERT(varchar, advance) b FROM {db}.dbo.titles WHERE type = 'mod_cook' ORDER BY price",
        answer: &["2.99|15000.00", "19.99|0.00"],
    },
    Published {
        database: "pubs",
        query: "SELECT CONVERT(varchar, price) a, CONVERT(varchar, advance) b FROM {db}.dbo.titles WHERE type = 'popular_comp' ORDER BY price",
        answer: &["null|null", "20.00|8000.00", "22.95|7000.00"],
    },
    Published {
        database: "pubs",
        query: "SELECT type a, CONVERT(varchar, SUM(price)) b, CONVERT(varchar, SUM(advance)) c FROM {db}.dbo.titles WHERE type LIKE '%cook' GROUP BY type ORDER BY type",
        answer: &["mod_cook    |22.98|15000.00", "trad_cook   |47.89|19000.00"],
    },
    Published {
        database: "pubs",
        query: "SELECT CONVERT(varchar, price) a, CONVERT(varchar, advance) b FROM {db}.dbo.titles WHERE type = 'trad_cook' ORDER BY price",
        answer: &["11.95|4000.00", "14.99|8000.00", "20.95|7000.00"],
    },
    Published {
        database: "pubs",
        query: "SELECT COUNT(*) a FROM (SELECT type FROM {db}.dbo.titles WHERE type LIKE '%cook') t",
        answer: &["5"],
    },
    Published {
        database: "northwind_of_script",
        query: "SELECT (SELECT COUNT(*) FROM {db}.dbo.Categories) a, (SELECT COUNT(*) FROM {db}.dbo.Customers) b, (SELECT COUNT(*) FROM {db}.dbo.Employees) c, (SELECT COUNT(*) FROM {db}.dbo.EmployeeTerritories) d, (SELECT COUNT(*) FROM {db}.dbo.[Order Details]) e, (SELECT COUNT(*) FROM {db}.dbo.Orders) f, (SELECT COUNT(*) FROM {db}.dbo.Region) g, (SELECT COUNT(*) FROM {db}.dbo.Products) h",
        answer: &["8|91|9|49|2155|830|4|77"],
    },
    Published {
        database: "northwind_of_script",
        query: "SELECT STR(AVG(CONVERT(float, UnitPrice)), 17, 14) a FROM {db}.dbo.Products",
        answer: &["28.86636363636364"],
    },
    Published {
        database: "northwind_of_script",
        query: "SELECT e.FirstName + ' ' + e.LastName a, COUNT(*) b FROM {db}.dbo.Orders o JOIN {db}.dbo.Employees e ON e.EmployeeID = o.EmployeeID GROUP BY e.FirstName, e.LastName HAVING COUNT(*) >= 72 ORDER BY COUNT(*) DESC",
        answer: &[
            "Margaret Peacock|156",
            "Janet Leverling|127",
            "Nancy Davolio|123",
            "Laura Callahan|104",
            "Andrew Fuller|96",
            "Robert King|72",
        ],
    },
    Published {
        database: "northwind_of_script",
        query: "SELECT TOP 5 OrderID a, CustomerID b, CONVERT(varchar, OrderDate, 23) c, CONVERT(varchar, Freight) d, ShipCountry e FROM {db}.dbo.Orders ORDER BY OrderID",
        answer: &[
            "10248|VINET|1996-07-04|32.38|France",
            "10249|TOMSP|1996-07-05|11.61|Germany",
            "10250|HANAR|1996-07-08|65.83|Brazil",
            "10251|VICTE|1996-07-08|41.34|France",
            "10252|SUPRD|1996-07-09|51.30|Belgium",
        ],
    },
    Published {
        database: "northwind_of_script",
        query: "SELECT TOP 1 OrderID a, ProductID b, CONVERT(varchar, UnitPrice) c, Quantity d FROM {db}.dbo.[Order Details] ORDER BY OrderID, ProductID",
        answer: &["10248|11|14.00|12"],
    },
];

/// The published queries of a sample, asked of a database.
fn ask_published(lab: &Lab, sample: &Sample, database: &str) {
    let of_sample = PUBLISHED
        .iter()
        .filter(|published| published.database == sample.database);
    for published in of_sample {
        let (rows, said) = lab.run(&format!(
            "SET NOCOUNT ON; {}",
            published.query.replace("{db}", database)
        ));
        let cell = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let cells = |row: &Value| -> Vec<String> { row.as_object().unwrap().values().map(cell).collect() };
        let found: Vec<String> = rows.iter().map(|row| cells(row).join("|")).collect();
        assert_eq!(found, published.answer, "{database}: {} {said}", published.query);
    }
}

/// Tables that tools add to a database.
const TOOLS: &str = "'sysdiagrams', 'dtproperties'";

/// Columns and values.
type Row = Vec<(String, Value)>;

/// An instance in a folder of its own.
struct Lab {
    folder: PathBuf,
    allowed: PathBuf,
}

impl Lab {
    fn new(name: &str, allowed: &Path) -> Lab {
        let folder = std::env::temp_dir().join(format!("vlflab-samples-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Lab {
            folder,
            allowed: allowed.to_owned(),
        }
    }

    /// The rows that a batch answers, and its messages.
    fn run(&self, batch: &str) -> (Vec<Value>, String) {
        let file = self.folder.with_extension("sql");
        std::fs::write(&file, batch).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_vlflab"));
        command.arg("sql").arg("--data").arg(&self.folder);
        command.arg("--allow-path").arg(&self.allowed).arg("-i").arg(&file);
        let output = command.args(["--format", "json"]).output().unwrap();
        std::fs::remove_file(&file).unwrap();
        let rows = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (rows, String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Tables with their columns, by names in small letters.
    fn tables(&self, database: &str) -> BTreeMap<String, Vec<String>> {
        let (rows, said) = self.run(&format!(
            "SET NOCOUNT ON; SELECT s.name + '.' + t.name AS tab, c.name AS col FROM {database}.sys.tables t
             JOIN {database}.sys.schemas s ON s.schema_id = t.schema_id
             JOIN {database}.sys.columns c ON c.object_id = t.object_id
             WHERE t.name NOT IN ({TOOLS}) ORDER BY 1, c.column_id"
        ));
        assert!(!rows.is_empty(), "{database}: {said}");
        let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in rows {
            let [table, column] = ["tab", "col"].map(|name| row[name].as_str().unwrap().to_lowercase());
            tables.entry(table).or_default().push(column);
        }
        tables
    }

    fn rows(&self, database: &str, table: &str, columns: &[String]) -> Vec<Row> {
        let list: Vec<String> = columns.iter().map(|column| format!("[{column}]")).collect();
        let (schema, name) = table.split_once('.').unwrap();
        let (rows, _) = self.run(&format!(
            "SET NOCOUNT ON; SELECT {} FROM {database}.[{schema}].[{name}]",
            list.join(", ")
        ));
        let values = |row: Value| match row {
            Value::Object(fields) => fields.into_iter().collect(),
            other => panic!("{other}"),
        };
        rows.into_iter().map(values).collect()
    }

    /// Restores or attaches a file as `x`; what is said when it cannot be.
    fn import(&self, path: &Path) -> Result<(), String> {
        let name = path.display();
        let is_backup = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("bak"));
        let statement = if is_backup {
            let (files, said) = self.run(&format!("RESTORE FILELISTONLY FROM DISK = N'{name}'"));
            if files.is_empty() {
                return Err(said);
            }
            let moves = files.iter().enumerate().map(|(number, file)| {
                let target = self.folder.join(format!("x{number}.dat"));
                let logical = file["LogicalName"].as_str().unwrap();
                format!("MOVE N'{logical}' TO N'{}'", target.display())
            });
            let moves: Vec<String> = moves.collect();
            format!("RESTORE DATABASE x FROM DISK = N'{name}' WITH {}", moves.join(", "))
        } else {
            format!("CREATE DATABASE x ON (FILENAME = N'{name}') FOR ATTACH")
        };
        let (_, said) = self.run(&statement);
        match said.contains("Level 16") {
            true => Err(said),
            false => Ok(()),
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Whether the script means what the file has: `started` is when it began to run.
fn is_explained(script: &Value, file: &Value, started: &str) -> bool {
    if script == file {
        return true;
    }
    let (Some(script), Some(file)) = (script.as_str(), file.as_str()) else {
        return false;
    };
    let without_line_ends = |text: &str| -> Vec<char> { text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect() };
    let (letters, of_file) = (without_line_ends(script), without_line_ends(file));
    let lost = |letter: char| matches!(letter, '?' | '\u{fffd}');
    let is_same = letters.len() == of_file.len()
        && letters
            .iter()
            .zip(&of_file)
            .all(|(mine, other)| mine == other || lost(*mine));
    is_same || script.len() == started.len() && script >= started
}

/// The rows of each side that the other does not have.
fn differences(script: Vec<Row>, file: Vec<Row>, started: &str) -> (Vec<Row>, Vec<Row>) {
    let mut left: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for row in file {
        left.entry(format!("{row:?}")).or_default().push(row);
    }
    let mut only_script = Vec::new();
    for row in script {
        match left.get_mut(&format!("{row:?}")).and_then(Vec::pop) {
            Some(_) => {}
            None => only_script.push(row),
        }
    }
    let mut only_file: Vec<Row> = left.into_values().flatten().collect();
    only_script.retain(|row| {
        let same = only_file.iter().position(|other| {
            let mut pairs = row.iter().zip(other);
            row.len() == other.len() && pairs.all(|((_, mine), (_, other))| is_explained(mine, other, started))
        });
        same.map(|at| only_file.swap_remove(at)).is_none()
    });
    (only_script, only_file)
}

/// Compares what was imported with what the script has made. Answers how many tables are equal, of how many.
fn compare(lab: &Lab, sample: &Sample, started: &str, path: &Path) -> (usize, usize) {
    let (of_script, of_file) = (lab.tables(sample.database), lab.tables("x"));
    let mut equal = 0;
    for (table, columns) in &of_script {
        let Some(found) = of_file.get(table) else {
            println!("  {table}: the file does not have it");
            continue;
        };
        let common: Vec<String> = columns
            .iter()
            .filter(|column| found.contains(column))
            .cloned()
            .collect();
        let has_others = common.len() != columns.len() || found.len() != columns.len();
        let rows = |database: &str| lab.rows(database, table, &common);
        let (only_script, only_file) = differences(rows(sample.database), rows("x"), started);
        if only_script.is_empty() && only_file.is_empty() && !has_others {
            equal += 1;
            continue;
        }
        let (script, file) = (only_script.len(), only_file.len());
        let columns = if has_others { ", and other columns" } else { "" };
        println!("  {table}: {script} rows only of the script, {file} only in the file{columns}");
        if let (Some(script), Some(file)) = (only_script.first(), only_file.first()) {
            let first = script.iter().zip(file).find(|(mine, other)| mine != other);
            let Some(((column, mine), (_, other))) = first else {
                continue;
            };
            println!("    for example {column}: {mine} and {other}");
        }
    }
    println!("{}: {equal} of {} tables equal", path.display(), of_script.len());
    (equal, of_script.len())
}

#[test]
fn samples_have_the_rows_that_their_scripts_make() {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let (Some(files), Some(scripts)) = (named("VLFLAB_GENUINE_DIR"), named("VLFLAB_SAMPLE_SCRIPTS")) else {
        println!("skipped: VLFLAB_GENUINE_DIR and VLFLAB_SAMPLE_SCRIPTS name no folders of public files and scripts");
        return;
    };
    for sample in SAMPLES {
        let lab = Lab::new(sample.database, &files);
        let script = scripts.join(sample.script);
        let begin = "SELECT GETDATE() AS started";
        let (begun, _) = lab.run(begin);
        let started = begun[0]["started"].as_str().unwrap();
        let make = format!(
            "IF N'{0}' <> N'pubs' CREATE DATABASE {0}\nGO\nIF DB_ID(N'{0}') IS NOT NULL USE {0}\nGO\n:r {1}\n",
            sample.database,
            script.display()
        );
        lab.run(&make);
        ask_published(&lab, &sample, sample.database);
        let entries = std::fs::read_dir(&files).unwrap().map(|entry| entry.unwrap().path());
        let mut paths: Vec<PathBuf> = entries
            .filter(|path| {
                let name = path.file_name().unwrap().to_string_lossy().to_lowercase();
                let is_file = name.ends_with(".bak") || name.ends_with(".mdf");
                is_file && sample.named.iter().any(|part| name.contains(part))
            })
            .collect();
        paths.sort();
        let mut whole = 0;
        for path in &paths {
            match lab.import(path) {
                Ok(()) => {
                    let (equal, all) = compare(&lab, &sample, started, path);
                    whole += usize::from(equal == all);
                    if equal == all {
                        ask_published(&lab, &sample, "x");
                    }
                    lab.run("DROP DATABASE x");
                }
                Err(said) => println!("{}: {}", path.display(), said.trim()),
            }
        }
        assert!(
            whole > 0 || paths.is_empty(),
            "none of {} files has what {} makes",
            paths.len(),
            sample.script
        );
        println!("{}: {whole} of {} files are what it makes", sample.script, paths.len());
    }
}
