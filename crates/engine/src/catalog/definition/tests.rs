//! Definitions and their stored form.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::catalog::BoundExpression;
use crate::types::Length;

#[test]
fn a_table_survives_its_stored_form() {
    let column = |name: &str, sql_type| ColumnDefinition {
        name: name.into(),
        sql_type,
        collation: Collation::default(),
        alias_type: None,
        nullable: false,
        identity: None,
        default: None,
        is_row_guid: false,
        computed: None,
        generated: None,
        mask: None,
        bound: Bindings::default(),
    };
    let root = StorageRoot {
        unit: 7,
        first_iam: (1, 16),
    };
    let table = TableDefinition {
        object_id: 245_575_913,
        schema: "dbo".into(),
        name: "charge".into(),
        columns: vec![
            ColumnDefinition {
                identity: Some(Identity { seed: 1, increment: 1 }),
                alias_type: Some(USER_TYPE_ID_FIRST),
                ..column("charge_no", SqlType::Int)
            },
            column(
                "amount",
                SqlType::Decimal {
                    precision: 15,
                    scale: 2,
                },
            ),
            column("code", SqlType::Char(2)),
            column("note", SqlType::NVarChar(Length::Max)),
        ],
        heap: Some(root),
        other_partitions: Vec::new(),
        partitioning: None,
        data_space: crate::catalog::PRIMARY_FILEGROUP,
        text_space: None,
        indexes: vec![],
        checks: vec![],
        foreign_keys: vec![],
        disabled_indexes: Vec::new(),
        lock_escalation: LockEscalation::default(),
        triggers: Vec::new(),
        versioning: None,
        history_of: None,
        indexed_views: Vec::new(),
        created: (46_000, 5),
    };
    let object = ObjectDefinition::Table(table);
    let text = serde_json::to_string(&object).unwrap();
    assert_eq!(serde_json::from_str::<ObjectDefinition>(&text).unwrap(), object);
}

#[test]
fn an_alias_type_survives_its_stored_form_and_an_unknown_base_is_refused() {
    let object = ObjectDefinition::AliasType(AliasType {
        object_id: 245_575_914,
        user_type_id: 258,
        schema: "dbo".into(),
        name: "normstring".into(),
        base: SqlType::VarChar(Length::Limited(31)),
        nullable: true,
        bound: Bindings {
            default: None,
            rule: Some(BoundExpression {
                object_id: 7,
                expression: "[@value] <> ''".into(),
            }),
        },
    });
    let text = serde_json::to_string(&object).unwrap();
    assert_eq!(serde_json::from_str::<ObjectDefinition>(&text).unwrap(), object);
    let damaged = text.replace("167", "3");
    assert_ne!(damaged, text);
    assert!(serde_json::from_str::<ObjectDefinition>(&damaged).is_err());
}
