//! `sp_columns_90` and `sp_columns_100`: the columns of `sp_columns`, and those that SQL Server 2005 and 2008 added between it and the type
//! token that stands last. Drivers copy the answer into a table of their own, column by column (mssql-jdbc,
//! `SQLServerDatabaseMetaData.getColumns`; Babelfish, `sys.sp_columns_100`).

use engine::catalog::ColumnDefinition;
use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::SystemProcedure;
use super::catalog::{COLUMN_HEAD, COLUMN_PARAMETERS, COLUMN_TOKEN, SMALLINT, SYSNAME, each_column, small};

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_columns_90",
        parameters: COLUMN_PARAMETERS,
        run: |context, host, arguments| list(context, host, arguments, &[]),
    },
    SystemProcedure {
        name: "sp_columns_100",
        parameters: COLUMN_PARAMETERS,
        run: |context, host, arguments| list(context, host, arguments, &SINCE_2008),
    },
];

/// Added by SQL Server 2008.
const SINCE_2008: [(&str, SqlType); 4] = [
    ("SS_IS_SPARSE", SMALLINT),
    ("SS_IS_COLUMN_SET", SMALLINT),
    ("SS_IS_COMPUTED", SMALLINT),
    ("SS_IS_IDENTITY", SMALLINT),
];
/// Added by SQL Server 2005; NULL for a column whose type is neither of the CLR nor xml.
const SINCE_2005: [(&str, SqlType); 6] = [
    ("SS_UDT_CATALOG_NAME", SYSNAME),
    ("SS_UDT_SCHEMA_NAME", SYSNAME),
    ("SS_UDT_ASSEMBLY_TYPE_NAME", SqlType::NVarChar(Length::Max)),
    ("SS_XML_SCHEMACOLLECTION_CATALOG_NAME", SYSNAME),
    ("SS_XML_SCHEMACOLLECTION_SCHEMA_NAME", SYSNAME),
    ("SS_XML_SCHEMACOLLECTION_NAME", SYSNAME),
];

fn list(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    arguments: &[Value],
    flags: &[(&'static str, SqlType)],
) -> Result<i32> {
    let columns = [COLUMN_HEAD.as_slice(), flags, &SINCE_2005, &[COLUMN_TOKEN]].concat();
    let mut answer = Table::new(&columns);
    each_column(context, arguments, |column, mut row| {
        let token = row.pop();
        row.extend(flags_of(column).into_iter().take(flags.len()));
        row.extend(SINCE_2005.map(|_| Value::Null));
        row.extend(token);
        answer.push(row);
    });
    answer.send(host).map(|()| 0)
}

/// There are neither sparse columns nor column sets here.
fn flags_of(column: &ColumnDefinition) -> [Value; 4] {
    let flag = |is_so: bool| small(i16::from(is_so));
    [
        flag(false),
        flag(false),
        flag(column.computed.is_some()),
        flag(column.identity.is_some()),
    ]
}
