//! `sp_table_privileges` and `sp_column_privileges` (sql-docs, pages of these names): the permissions on a table or a column: those that its
//! owner has, all of them, with the right to grant, and those that were granted.

use std::collections::HashMap;

use engine::catalog::{PermissionState, Securable};
use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::SystemProcedure;
use super::catalog::{SYSNAME, fits, uses_patterns, varchar};
use super::{NAME, text};
use crate::security::{Entries, Permission, effective_owner, principals};
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

/// A permission on a table, or on a column of it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Privilege {
    name: &'static str,
    grantor: String,
    grantee: String,
    is_grantable: bool,
}

impl Privilege {
    fn values(self) -> [Value; 4] {
        let is_grantable = if self.is_grantable { "YES" } else { "NO" };
        [
            self.grantor.into(),
            self.grantee.into(),
            self.name.into(),
            is_grantable.into(),
        ]
    }
}

/// What is granted in a database, and by whom.
struct Granted {
    entries: Entries,
    names: HashMap<u32, String>,
}

impl Granted {
    fn of(context: &SystemContext<'_>) -> Granted {
        let all = principals(&context.database, context.session_id).into_iter();
        Granted {
            entries: Entries::of(&context.database, context.session_id),
            names: all.map(|principal| (principal.id, principal.name)).collect(),
        }
    }

    fn name_of(&self, id: u32) -> String {
        self.names.get(&id).cloned().unwrap_or_default()
    }

    /// The permissions of some names on a table, or on the column with a number of it, by name, grantee and grantor.
    fn on(&self, owner: &ObjectRow, column: Option<u32>, names: &[&'static str]) -> Vec<Privilege> {
        let id = owner.object_id as u32;
        let owner_id = effective_owner(&self.entries, Securable::Object(id), owner.schema_id);
        let of_owner = names.iter().map(|name| Privilege {
            name,
            grantor: self.name_of(owner_id),
            grantee: self.name_of(owner_id),
            is_grantable: true,
        });
        let is_on = |securable: Securable| {
            securable == Securable::Object(id)
                || column.is_some_and(|column| securable == Securable::Column(id, column))
        };
        let permissions = self.entries.permissions.iter().map(|(_, own)| own);
        let granted = permissions
            .filter(|own| own.state.is_granted() && is_on(own.securable))
            .filter_map(|own| {
                let permission = Permission::coded(&own.permission)?;
                Some(Privilege {
                    name: names.iter().find(|name| **name == permission.name)?,
                    grantor: self.name_of(own.grantor),
                    grantee: self.name_of(own.grantee),
                    is_grantable: own.state == PermissionState::GrantWithGrantOption,
                })
            });
        let mut all: Vec<Privilege> = of_owner.chain(granted).collect();
        all.sort();
        all
    }
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
    let granted = Granted::of(context);
    for owner in &found {
        for privilege in granted.on(owner, None, &OF_A_TABLE) {
            let mut row = table_of(context, owner);
            row.extend(privilege.values());
            answer.push(row);
        }
    }
    answer.send(host).map(|()| 0)
}

/// Of one table, by column, then by privilege. The column alone may be a pattern.
fn of_columns(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let column_of = [("COLUMN_NAME", SYSNAME)];
    let mut answer = Table::new(&[WHICH.as_slice(), &column_of, &WHO_MAY].concat());
    let granted = Granted::of(context);
    for (owner, object) in with_columns(context) {
        let is_meant = is_relation(&owner)
            && fits(&owner.name, text(arguments, 0), false)
            && fits(&owner.schema, text(arguments, 1), false);
        if !is_meant {
            continue;
        }
        let columns = columns_of(&object).iter().map(|column| column.name.as_str());
        let mut columns: Vec<(&str, u32)> = columns.zip(1..).collect();
        columns.retain(|(column, _)| fits(column, text(arguments, 3), true));
        columns.sort_unstable();
        for (column, number) in columns {
            for privilege in granted.on(&owner, Some(number), &OF_A_COLUMN) {
                let mut row = table_of(context, &owner);
                row.push(column.into());
                row.extend(privilege.values());
                answer.push(row);
            }
        }
    }
    answer.send(host).map(|()| 0)
}
