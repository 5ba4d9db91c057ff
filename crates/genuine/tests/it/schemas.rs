//! The statements that make a foreign table here: its types, and the collations of its columns.

use crate::support::database::{CHAR, Column, Database, INT, NVARCHAR, Table, VARCHAR};
use genuine::DataFiles;
use genuine::catalog::Catalog;
use genuine::catalog::objects::{Index, IndexRole};
use genuine::schema::{Dialect, after_rows, before_rows, left_out};

/// Each of the columns has a collation of its own. The database has SQL_Latin1_General_CP1_CI_AS.
#[test]
fn a_table_is_made_with_types_and_collations_that_hold_its_values() {
    let columns = vec![
        Column::new("id", INT, 4).not_null(),
        Column::new("usual", VARCHAR, 10).collated(0x3400_D008),
        Column::new("sensitive", NVARCHAR, 20).collated(0xC008),
        Column::new("cyrillic", CHAR, 5).collated(0x6A00_D008),
        Column::new("unknown", VARCHAR, 10).collated(0xD0F0),
    ];
    let file = Database::new("Words", vec![Table::new("Words", columns)]).file();
    let files = DataFiles::open(vec![file]).unwrap();
    let catalog = Catalog::open(&files).unwrap();
    let made: Vec<String> = before_rows(&catalog, Dialect::Vlflab)
        .into_iter()
        .map(|statement| statement.text)
        .collect();
    let table = made.last().unwrap();
    for column in [
        "[usual] varchar(10) NULL",
        "[sensitive] nvarchar(10) COLLATE Latin1_General_CS_AS NULL",
        // The sort id 106 is SQL_Latin1_General_CP1251_CI_AS.
        "[cyrillic] nchar(5) COLLATE Latin1_General_CI_AS NULL",
        "[unknown] varchar(10) COLLATE Latin1_General_CI_AS NULL",
    ] {
        assert!(table.contains(column), "{column}: {table}");
    }
    let said = left_out(&catalog);
    assert_eq!(
        said,
        [
            "1 column has the collation 0x0000D0F0 (of an unknown language, read as code page 1252), and Latin1_General_CI_AS here",
            "1 column has the collation 0x6A00D008 (code page 1251), and Latin1_General_CI_AS here; of these, char, varchar and text become nchar, nvarchar and ntext",
        ]
    );
}

/// A key that ignores duplicates would leave rows out while they are loaded, where the collation here tells less apart: it is made behind them.
#[test]
fn a_key_that_ignores_duplicates_is_made_behind_the_rows() {
    for ignores_duplicates in [true, false] {
        let columns = vec![Column::new("id", INT, 4).not_null()];
        let file = Database::new("Words", vec![Table::new("Words", columns)]).file();
        let files = DataFiles::open(vec![file]).unwrap();
        let mut catalog = Catalog::open(&files).unwrap();
        let table = &mut catalog.tables[0];
        table.indexes.push(Index {
            name: "key".into(),
            role: IndexRole::UniqueConstraint,
            is_clustered: false,
            is_disabled: false,
            ignores_duplicates,
            keys: vec![(1, false)],
            included: Vec::new(),
            filter: None,
            other_kind: None,
        });
        let has_key = |statements: Vec<genuine::schema::Statement>| {
            statements
                .iter()
                .filter(|statement| statement.text.contains("CONSTRAINT [key] UNIQUE NONCLUSTERED ([id])"))
                .count()
        };
        assert_eq!(
            has_key(before_rows(&catalog, Dialect::Vlflab)),
            usize::from(!ignores_duplicates)
        );
        let behind = after_rows(&catalog, Dialect::Vlflab);
        let added = "ADD CONSTRAINT [key] UNIQUE NONCLUSTERED ([id]) WITH (IGNORE_DUP_KEY = ON);";
        assert_eq!(
            behind.iter().any(|statement| statement.text.contains(added)),
            ignores_duplicates
        );
    }
}
