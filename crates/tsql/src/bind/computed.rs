//! Computed columns: their expressions, bound over a row of their table's columns, and their permitted uses.
//!
//! ```text
//!                                  stored in rows   deterministic   precise
//! computed when read               no               -               -
//! PERSISTED                        yes              yes (4936)      -
//! of an index or of statistics     yes              yes (2729)      yes, unless it is PERSISTED (2799)
//! ```
//! (sql-docs, "Indexes on computed columns", "Specify computed columns in a table".) An expression is deterministic if all functions in it
//! are, and precise if it contains no `real` or `float`.

use std::sync::Arc;

use engine::catalog::{ColumnDefinition, NUMERIC_TYPE_ID, TableDefinition};
use engine::error::Result;
use engine::types::{Collation, SqlType, Value};

use super::Binder;
use super::scope::{Level, SelectLevel};
use super::source::table_columns;
use crate::messages;
use crate::modules::{TableVariableShape, VariableScope, has_word};
use crate::plan::{ComputedTarget, Expr, ExprKind, VirtualColumn};
use crate::scalar::moment::DatePart;

/// The functions that answer the same for the same arguments, whatever the settings of the session (sql-docs, "Deterministic and
/// nondeterministic functions"). DATEPART is one unless it asks for a day of the week or a week, CONVERT by its types and style.
const DETERMINISTIC: [&str; 89] = [
    "abs",
    "acos",
    "ascii",
    "asin",
    "atan",
    "atn2",
    "base64_decode",
    "base64_encode",
    "binary_checksum",
    "bit_count",
    "ceiling",
    "char",
    "charindex",
    "checksum",
    "choose",
    "concat",
    "concat_ws",
    "cos",
    "cot",
    "datalength",
    "dateadd",
    "datediff",
    "datediff_big",
    "datefromparts",
    "datepart",
    "datetime2fromparts",
    "datetimefromparts",
    "datetimeoffsetfromparts",
    "datetrunc",
    "day",
    "degrees",
    "difference",
    "eomonth",
    "exp",
    "floor",
    "get_bit",
    "greatest",
    "hashbytes",
    "iif",
    "isjson",
    "isnull",
    "isnumeric",
    "json_modify",
    "json_path_exists",
    "json_query",
    "json_value",
    "least",
    "left",
    "left_shift",
    "len",
    "log",
    "log10",
    "lower",
    "ltrim",
    "month",
    "nchar",
    "nullif",
    "parsename",
    "patindex",
    "pi",
    "power",
    "quotename",
    "radians",
    "replace",
    "replicate",
    "reverse",
    "right",
    "right_shift",
    "round",
    "rtrim",
    "set_bit",
    "sign",
    "sin",
    "smalldatetimefromparts",
    "soundex",
    "space",
    "sqrt",
    "square",
    "str",
    "string_escape",
    "stuff",
    "substring",
    "switchoffset",
    "tan",
    "timefromparts",
    "todatetimeoffset",
    "translate",
    "trim",
    "unicode",
];
/// Those that are there beside the list.
const DETERMINISTIC_OTHERS: [&str; 2] = ["upper", "year"];

/// What a function of the user that is deterministic has nowhere: rows of tables, and functions that are not deterministic.
const UNSTABLE_WORDS: [&str; 19] = [
    "FROM",
    "CURRENT_DATE",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "DATENAME",
    "DB_NAME",
    "FORMAT",
    "GETDATE",
    "GETUTCDATE",
    "HOST_NAME",
    "OBJECT_ID",
    "ORIGINAL_DB_NAME",
    "ORIGINAL_LOGIN",
    "SESSION_CONTEXT",
    "SUSER_SNAME",
    "SYSDATETIME",
    "SYSDATETIMEOFFSET",
    "SYSUTCDATETIME",
    "USER_NAME",
];

/// Static properties of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExpressionFacts {
    pub(crate) is_deterministic: bool,
    pub(crate) is_precise: bool,
}

impl ExpressionFacts {
    pub(crate) fn of(expression: &Expr) -> ExpressionFacts {
        let mut facts = ExpressionFacts {
            is_deterministic: is_deterministic(expression),
            is_precise: !matches!(expression.sql_type, SqlType::Real | SqlType::Float),
        };
        expression.for_each_child(&mut |child| {
            let below = ExpressionFacts::of(child);
            facts.is_deterministic &= below.is_deterministic;
            facts.is_precise &= below.is_precise;
        });
        facts
    }
}

/// Whether a computed column takes NULL: "the result of most expressions is considered nullable even if only nonnullable columns are present,
/// because possible underflows or overflows will produce null results as well", until ISNULL gives them a value (sql-docs, "ALTER TABLE
/// computed_column_definition").
fn may_be_null(expression: &Expr) -> bool {
    let overflows = match &expression.kind {
        ExprKind::Arithmetic { .. } | ExprKind::Negate(_) => true,
        ExprKind::Convert { operand, .. } | ExprKind::Collate(operand) => may_be_null(operand),
        _ => false,
    };
    overflows || expression.nullable
}

/// Whether an operation itself is, whatever its operands are.
pub(crate) fn is_deterministic(expression: &Expr) -> bool {
    match &expression.kind {
        ExprKind::Function { name, arguments, .. } => {
            let is_listed = DETERMINISTIC.contains(name)
                || DETERMINISTIC_OTHERS.contains(name)
                || super::hierarchy::is_method(name)
                || super::spatial::is_method(name);
            match *name {
                "datepart" => !asks_for_week(arguments),
                // A seed decides the number.
                "rand" => arguments.first().is_some_and(|seed| seed.sql_type != SqlType::BigInt),
                _ => is_listed,
            }
        }
        ExprKind::Convert { operand, style, .. } => {
            is_deterministic_conversion(operand.sql_type, expression.sql_type, style.as_deref())
        }
        // What is bound to its schema cannot change, and one that reads no table depends on its arguments.
        ExprKind::Module { call, .. } => {
            let text = call.module.text.as_ref();
            has_word(text, "SCHEMABINDING") && !UNSTABLE_WORDS.iter().any(|word| has_word(text, word))
        }
        ExprKind::Subquery(_) | ExprKind::Variable(_) | ExprKind::Parameter(_) => false,
        _ => true,
    }
}

/// Whether a part of a moment depends on DATEFIRST.
fn asks_for_week(arguments: &[Expr]) -> bool {
    let number = arguments.first().map(|part| &part.kind);
    let Some(ExprKind::Constant(Value::Int(number))) = number else {
        return true;
    };
    [DatePart::Week, DatePart::WeekDay]
        .into_iter()
        .any(|part| part.number() == *number)
}

/// Between strings and moments it is the style that decides: "styles less than or equal to 100 are nondeterministic, except for styles 20
/// and 21. Styles greater than 100 are deterministic, except for styles 106, 107, 109 and 113".
fn is_deterministic_conversion(from: SqlType, to: SqlType, style: Option<&Expr>) -> bool {
    if from == SqlType::SqlVariant || to == SqlType::SqlVariant {
        return false;
    }
    let is_between = from.is_character() && to.is_temporal() || from.is_temporal() && to.is_character();
    if !is_between {
        return true;
    }
    match style.map(|style| &style.kind) {
        Some(ExprKind::Constant(Value::Int(style))) => {
            matches!(style, 20 | 21) || *style > 100 && !matches!(style, 106 | 107 | 109 | 113)
        }
        _ => false,
    }
}

impl Binder<'_> {
    /// What computes a column of a table, over a row of the table's columns.
    ///
    /// # Errors
    /// 1046, 1759; those of binding.
    pub(crate) fn computed_expression(&self, definition: &TableDefinition, column: &str, text: &str) -> Result<Expr> {
        let parsed = crate::parser::parse_expression(text).map_err(messages::syntax)?;
        let scope = VariableScope::default();
        let mut binder = Binder::new(self.session, &scope);
        binder.forbid_subqueries();
        let level = Level::Select(SelectLevel {
            columns: table_columns(definition, &definition.name, None, 0),
            ..SelectLevel::default()
        });
        let (bound, _) = binder.within(level, |binder| binder.expression(&parsed))?;
        let mut read = vec![false; definition.columns.len()];
        bound.mark_columns(&mut read);
        let mut columns = definition.columns.iter().zip(read);
        match columns.any(|(other, is_read)| is_read && other.computed.is_some()) {
            true => Err(messages::computed_of_computed(column, &definition.name)),
            false => bound.assignable(),
        }
    }

    /// The same as the column keeps its values.
    ///
    /// # Errors
    /// Those of [`Binder::computed_expression`].
    pub(crate) fn computed_value(
        &self,
        definition: &TableDefinition,
        column: &ColumnDefinition,
    ) -> Result<Option<Expr>> {
        let Some(computed) = &column.computed else {
            return Ok(None);
        };
        let bound = self.computed_expression(definition, &column.name, &computed.text)?;
        Ok(Some(bound.converted(column.sql_type)))
    }

    /// Gives a computed column the type of what computes it.
    ///
    /// # Errors
    /// Those of [`Binder::computed_expression`]; 4936 for one that is to be stored and may be another each time.
    pub(crate) fn settle_computed(&self, definition: &mut TableDefinition, place: usize) -> Result<()> {
        let column = &definition.columns[place];
        let Some(computed) = &column.computed else {
            return Ok(());
        };
        let bound = self.computed_expression(definition, &column.name, &computed.text)?;
        if computed.is_persisted && !ExpressionFacts::of(&bound).is_deterministic {
            return Err(messages::computed_not_deterministic(&column.name, &definition.name));
        }
        let is_not_null = computed.is_persisted && !column.nullable;
        let column = &mut definition.columns[place];
        column.sql_type = bound.sql_type;
        column.nullable = may_be_null(&bound) && !is_not_null;
        column.collation = match bound.sql_type.is_character() {
            true => bound.label.collation(),
            false => Collation::default(),
        };
        let is_number = matches!(bound.sql_type, SqlType::Decimal { .. });
        let is_cast = matches!(bound.kind, ExprKind::Convert { .. } | ExprKind::Column(_));
        column.alias_type = (is_number && !is_cast).then_some(u32::from(NUMERIC_TYPE_ID));
        Ok(())
    }

    /// Judges a computed column that is to be in an index or in statistics.
    ///
    /// # Errors
    /// 2729, 2799.
    pub(crate) fn require_indexable(&self, definition: &TableDefinition, place: usize, index: &str) -> Result<()> {
        let column = &definition.columns[place];
        let Some(computed) = &column.computed else {
            return Ok(());
        };
        let facts = self.facts_of_computed(definition, column)?;
        if !facts.is_deterministic {
            let table = format!("{}.{}", definition.schema, definition.name);
            return Err(messages::indexed_not_deterministic(&column.name, &table));
        }
        if !facts.is_precise && !computed.is_persisted {
            let table = format!("{}.{}", definition.schema, definition.name);
            return Err(messages::indexed_not_precise(index, &table, &column.name));
        }
        Ok(())
    }

    /// Static properties of a column's expression.
    ///
    /// # Errors
    /// Those of [`Binder::computed_expression`].
    pub(crate) fn facts_of_computed(
        &self,
        definition: &TableDefinition,
        column: &ColumnDefinition,
    ) -> Result<ExpressionFacts> {
        let text = column.computed.as_ref().map_or("", |computed| &computed.text);
        let bound = self.computed_expression(definition, &column.name, text)?;
        Ok(ExpressionFacts::of(&bound))
    }

    /// The computed columns of a table of which its rows have nothing.
    ///
    /// # Errors
    /// Those of [`Binder::computed_expression`].
    pub(super) fn virtual_columns(&self, definition: &TableDefinition) -> Result<Vec<VirtualColumn>> {
        let mut columns = Vec::new();
        for (place, column) in definition
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| column.is_virtual())
        {
            if let Some(expression) = self.computed_value(definition, column)? {
                columns.push(VirtualColumn {
                    column: place,
                    expression,
                });
            }
        }
        Ok(columns)
    }

    /// What computes a column of a target.
    ///
    /// # Errors
    /// Those of [`Binder::computed_expression`].
    pub(super) fn computed_target(
        &self,
        definition: &TableDefinition,
        column: &ColumnDefinition,
    ) -> Result<Option<ComputedTarget>> {
        let expression = self.computed_value(definition, column)?;
        Ok(expression.map(|expression| ComputedTarget {
            expression,
            is_stored: !column.is_virtual(),
        }))
    }

    /// A table variable's shape with the types of its computed columns: where it is declared, nothing is bound.
    ///
    /// # Errors
    /// Those of [`Binder::settle_computed`].
    pub(crate) fn settled_shape(&self, shape: &Arc<TableVariableShape>) -> Result<Arc<TableVariableShape>> {
        if shape.columns.iter().all(|column| column.computed.is_none()) {
            return Ok(shape.clone());
        }
        let mut table = shape.as_table(self.collation);
        let mut settled = (**shape).clone();
        for (place, column) in settled.columns.iter_mut().enumerate() {
            if column.computed.is_none() {
                continue;
            }
            self.settle_computed(&mut table, place)?;
            let own = &table.columns[place];
            (column.sql_type, column.nullable) = (own.sql_type, own.nullable);
            column.collation = own.sql_type.is_character().then_some(own.collation);
        }
        Ok(Arc::new(settled))
    }

    /// 271 for a computed column that is given a value.
    pub(super) fn refuse_computed(column: &crate::plan::TargetColumn) -> Result<()> {
        match column.computed {
            Some(_) => Err(messages::computed_is_not_set(&column.name)),
            None => Ok(()),
        }
    }
}
