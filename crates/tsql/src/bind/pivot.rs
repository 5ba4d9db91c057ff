//! PIVOT and UNPIVOT (sql-docs, "FROM - Using PIVOT and UNPIVOT"): each is a query in FROM over the source before it.
//!
//! ```text
//! PIVOT    groups by all other columns; for each value an aggregate over CASE column WHEN value THEN argument END
//! UNPIVOT  the source with VALUES (a, 'a'), (b, 'b') applied to each row; rows without a value are omitted
//! ```

use std::sync::Arc;

use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::aggregate::function_of;
use super::from::FromBuilder;
use super::scope::{Level, SelectLevel};
use super::source::BoundSource;
use super::{Binder, ScopeColumn};
use crate::ast::{ComparisonOperator, Identifier, Pivot, Unpivot};
use crate::messages;
use crate::plan::{
    AggregateCall, AggregateFunction, AggregateNode, Condition, DerivedNode, Expr, ExprKind, FromUnit, JoinMethods,
    Node, ProjectNode, QueryPlan, ValuesNode,
};
use crate::scalar::convert::{convert, text_length};
use crate::scalar::data_type::string_type;
use crate::sink::ResultColumn;

impl<'a> Binder<'a> {
    /// # Errors
    /// 265 and 8156 for a name that there is already, 473 for a value that the column cannot have; those of binding.
    pub(super) fn pivot(&mut self, pivot: &'a Pivot, from: &mut FromBuilder) -> Result<BoundSource> {
        let mut builder = FromBuilder::default();
        let clause = self.sources(std::slice::from_ref(&pivot.source), &mut builder)?;
        self.line = pivot.line;
        let name = pivot.aggregate.name.object().to_ascii_lowercase();
        let function = function_of(&name).ok_or_else(|| messages::unknown_function(pivot.aggregate.name.object()))?;
        if matches!(function, AggregateFunction::JsonArray | AggregateFunction::JsonObject) {
            return Err(super::not_supported(&format!("{} of PIVOT", name.to_uppercase())));
        }
        let ((call, column), _) = self.within(level_of(&clause.columns), |binder| {
            let call = binder.aggregate_call(&name, function, &pivot.aggregate)?;
            Ok((call, binder.column(&pivot.column)?))
        })?;
        let mut is_used = vec![false; builder.width];
        call.argument
            .iter()
            .for_each(|argument| argument.mark_columns(&mut is_used));
        column.mark_columns(&mut is_used);
        let groups: Vec<&ScopeColumn> = clause
            .columns
            .iter()
            .filter(|column| !column.is_hidden && !is_used[column.index])
            .collect();
        let mut columns: Vec<ResultColumn> = groups.iter().map(|column| column.result()).collect();
        let mut aggregates = Vec::with_capacity(pivot.values.len());
        for value in &pivot.values {
            if columns.iter().take(groups.len()).any(|column| value.is(&column.name)) {
                return Err(messages::pivot_name_conflict(&value.text, "PIVOT"));
            }
            let aggregate = self.aggregate_where(&call, &column, value)?;
            columns.push(ResultColumn {
                label: aggregate.label(),
                nullable: aggregate.function != AggregateFunction::Count,
                ..ResultColumn::new(&value.text, aggregate.sql_type)
            });
            aggregates.push(aggregate);
        }
        let keys = groups
            .iter()
            .map(|column| column.expression().sortable_for("GROUP BY", 1));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let input = self.logical_from(clause.units, clause.conjuncts, builder.width, clause.is_forced);
        let root = Node::Aggregate(AggregateNode {
            input: Box::new(input),
            input_width: builder.width,
            keys,
            sets: Vec::new(),
            aggregates,
            is_stream: false,
        });
        self.projected(root, columns, &pivot.alias, from)
    }

    /// The aggregate over those rows whose column has the value.
    fn aggregate_where(&self, call: &AggregateCall, column: &Expr, value: &Identifier) -> Result<AggregateCall> {
        let text = SqlType::NVarChar(Length::Max);
        let units = text_length(&value.text, column.sql_type.is_unicode()).min(8_000);
        let sql_type = match column.sql_type.is_character() {
            true => string_type(column.sql_type.is_unicode(), Length::Limited(units as u16)),
            false => column.sql_type,
        };
        let incorrect = |_| messages::pivot_value_incorrect(&value.text);
        let wanted = convert(&Value::from(value.text.as_str()), text, sql_type, None).map_err(incorrect)?;
        let condition = self.comparison(
            ComparisonOperator::Equal,
            column.clone(),
            Expr::constant(wanted, sql_type),
        )?;
        let argument = call.argument.clone().map(|argument| Expr {
            sql_type: argument.sql_type,
            nullable: true,
            label: argument.label,
            kind: ExprKind::Case {
                branches: vec![(condition, argument)],
                otherwise: None,
            },
        });
        Ok(AggregateCall {
            argument,
            ..call.clone()
        })
    }

    /// A source of rows as they are, as a query of FROM.
    fn projected(
        &mut self,
        root: Node,
        columns: Vec<ResultColumn>,
        alias: &Identifier,
        from: &mut FromBuilder,
    ) -> Result<BoundSource> {
        let width = columns.len();
        let expressions = columns
            .iter()
            .enumerate()
            .map(|(index, column)| column.expression(index));
        let plan = QueryPlan {
            root: Node::Project(ProjectNode {
                expressions: expressions.collect(),
                input: Box::new(root),
                input_width: width,
            }),
            width,
            columns,
        };
        self.derived_columns(plan, &[], &alias.text, alias.text.clone(), from)
    }

    /// # Errors
    /// 265 for a name that there is already, 8167 for columns of several types; those of binding.
    pub(super) fn unpivot(&mut self, unpivot: &'a Unpivot, from: &mut FromBuilder) -> Result<BoundSource> {
        let mut builder = FromBuilder::default();
        let mut clause = self.sources(std::slice::from_ref(&unpivot.source), &mut builder)?;
        self.line = unpivot.line;
        let (values, _) = self.within(level_of(&clause.columns), |binder| {
            let columns = unpivot.columns.iter();
            columns.map(|name| binder.column(name)).collect::<Result<Vec<_>>>()
        })?;
        let mut is_used = vec![false; builder.width];
        values.iter().for_each(|value| value.mark_columns(&mut is_used));
        let first = values
            .first()
            .ok_or_else(|| messages::incorrect_syntax_near(")"))?
            .clone();
        let is_other = |value: &&Expr| {
            let is_text = first.sql_type.is_character();
            value.sql_type != first.sql_type || (is_text && value.label.collation() != first.label.collation())
        };
        if let Some(place) = values.iter().position(|value| is_other(&value)) {
            return Err(messages::unpivot_type_conflict(unpivot.columns[place].object()));
        }
        let kept: Vec<&ScopeColumn> = clause
            .columns
            .iter()
            .filter(|column| !column.is_hidden && !is_used[column.index])
            .collect();
        for name in [&unpivot.value, &unpivot.name] {
            if kept.iter().any(|column| name.is(&column.name)) {
                return Err(messages::pivot_name_conflict(&name.text, "UNPIVOT"));
            }
        }
        let value_column = ResultColumn {
            label: first.label.of_column(),
            nullable: false,
            ..ResultColumn::new(&unpivot.value.text, first.sql_type)
        };
        let name_column = ResultColumn {
            nullable: false,
            ..ResultColumn::new(&unpivot.name.text, SqlType::SYSNAME)
        };
        let offset = builder.take(2);
        let mut expressions: Vec<Expr> = kept.iter().map(|column| column.expression()).collect();
        let mut columns: Vec<ResultColumn> = kept.iter().map(|column| column.result()).collect();
        expressions.push(value_column.expression(offset));
        expressions.push(name_column.expression(offset + 1));
        let mut value = value_column.expression(offset);
        value.nullable = true;
        clause
            .conjuncts
            .push(Condition::Not(Box::new(Condition::IsNull(value))));
        clause.units.push(FromUnit {
            node: turned(values, unpivot, [&value_column, &name_column], offset),
            lateral: true,
            methods: JoinMethods::ANY,
        });
        columns.extend([value_column, name_column]);
        let plan = QueryPlan {
            root: Node::Project(ProjectNode {
                input: Box::new(self.logical_from(clause.units, clause.conjuncts, builder.width, clause.is_forced)),
                input_width: builder.width,
                expressions,
            }),
            width: columns.len(),
            columns,
        };
        self.derived_columns(plan, &[], &unpivot.alias.text, unpivot.alias.text.clone(), from)
    }
}

/// The columns of a source, as names.
fn level_of(columns: &[ScopeColumn]) -> Level {
    Level::Select(SelectLevel {
        columns: columns.to_vec(),
        ..SelectLevel::default()
    })
}

/// A row for each column of the row around: its value and its name.
fn turned(values: Vec<Expr>, unpivot: &Unpivot, columns: [&ResultColumn; 2], offset: usize) -> Node {
    let pairs = values.iter().zip(&unpivot.columns).enumerate();
    let rows = pairs.map(|(index, (value, name))| {
        let captured = Expr {
            kind: ExprKind::Parameter(index),
            ..value.clone()
        };
        vec![captured, Expr::constant(Value::from(name.object()), SqlType::SYSNAME)]
    });
    let rows = rows.collect();
    Node::Derived(DerivedNode {
        plan: Arc::new(QueryPlan {
            root: Node::Values(ValuesNode { rows, offset: 0 }),
            width: 2,
            columns: columns.map(Clone::clone).to_vec(),
        }),
        captures: values,
        offset,
        common: None,
    })
}
