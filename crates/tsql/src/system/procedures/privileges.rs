//! `sp_table_privileges` and `sp_column_privileges` (sql-docs, pages of these names): the permissions on a table or a column. There are no
//! users besides the owner, and GRANT stores nothing, so the answer is the owner's permissions: all of them, with the right to grant.

use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::SystemProcedure;
use super::catalog::{SYSNAME, fits, uses_patterns, varchar};
use super::{NAME, text};
use crate::views::{ObjectRow, columns_of, with_columns};

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    // Windows logins that the operating system no longer has: there are none of either.
    SystemProcedure {
        name: "sp_validatelogins",
        parameters: &[],
        run: |_, host, _| {
            let columns = [
                ("SID", SqlType::VarBinary(Length::Limited(85))),
                ("NT Login", SqlType::SYSNAME),
            ];
            Table::new(&columns).send(host).map(|()| 0)
        },
    },
    SystemProcedure {
        name: "sp_table_privileges",
        parameters: &[
            ("@table_name", NAME, true),
            ("@table_owner", NAME, false),
            ("@table_qualifier", NAME, false),
            ("@fUsePattern", SqlType::Bit, false),
        ],
        run: of_tables,
    },
    SystemProcedure {
        name: "sp_column_privileges",
        parameters: &[
            ("@table_name", NAME, true),
            ("@table_owner", NAME, false),
            ("@table_qualifier", NAME, false),
            ("@column_name", NAME, false),
        ],
        run: of_columns,
    },
];

const OF_A_TABLE: [&str; 5] = ["DELETE", "INSERT", "REFERENCES", "SELECT", "UPDATE"];
const OF_A_COLUMN: [&str; 4] = ["INSERT", "REFERENCES", "SELECT", "UPDATE"];

/// The owner of every schema, as grantor and grantee.
const OWNER: &str = "dbo";

const WHO_MAY: [(&str, SqlType); 4] = [
    ("GRANTOR", SYSNAME),
    ("GRANTEE", SYSNAME),
    ("PRIVILEGE", varchar(32)),
    ("IS_GRANTABLE", varchar(3)),
];
const WHICH: [(&str, SqlType); 3] = [
    ("TABLE_QUALIFIER", SYSNAME),
    ("TABLE_OWNER", SYSNAME),
    ("TABLE_NAME", SYSNAME),
];

fn table_of(context: &SystemContext<'_>, owner: &ObjectRow) -> Vec<Value> {
    let names = [context.database.name().as_str(), &owner.schema, &owner.name].map(Value::from);
    names.into()
}

fn may(privilege: &str) -> [Value; 4] {
    [OWNER, OWNER, privilege, "YES"].map(Value::from)
}

/// Whether an object is a table or a view; the others have no privileges of these kinds.
fn is_relation(object: &ObjectRow) -> bool {
    matches!(object.kind.0, "U" | "V")
}

/// By name, then by privilege.
fn of_tables(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let mut answer = Table::new(&[WHICH.as_slice(), &WHO_MAY].concat());
    let patterns = uses_patterns(arguments, 3);
    let mut found: Vec<ObjectRow> = with_columns(context)
        .into_iter()
        .map(|(owner, _)| owner)
        .filter(|owner| is_relation(owner) && fits(&owner.name, text(arguments, 0), patterns))
        .filter(|owner| fits(&owner.schema, text(arguments, 1), patterns))
        .collect();
    found.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
    for owner in &found {
        for privilege in OF_A_TABLE {
            let mut row = table_of(context, owner);
            row.extend(may(privilege));
            answer.push(row);
        }
    }
    answer.send(host).map(|()| 0)
}

/// Of one table, by column, then by privilege. The column alone may be a pattern.
fn of_columns(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let column_of = [("COLUMN_NAME", SYSNAME)];
    let mut answer = Table::new(&[WHICH.as_slice(), &column_of, &WHO_MAY].concat());
    for (owner, object) in with_columns(context) {
        let is_meant = is_relation(&owner)
            && fits(&owner.name, text(arguments, 0), false)
            && fits(&owner.schema, text(arguments, 1), false);
        if !is_meant {
            continue;
        }
        let mut columns: Vec<&str> = columns_of(&object).iter().map(|column| column.name.as_str()).collect();
        columns.retain(|column| fits(column, text(arguments, 3), true));
        columns.sort_unstable();
        for column in columns {
            for privilege in OF_A_COLUMN {
                let mut row = table_of(context, &owner);
                row.push(column.into());
                row.extend(may(privilege));
                answer.push(row);
            }
        }
    }
    answer.send(host).map(|()| 0)
}
