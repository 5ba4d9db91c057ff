//! The text of a default or a condition as SQL Server's catalog shows it: not as written, but regenerated from its parts.
//!
//! ```text
//! DEFAULT 50                       ((50))
//! DEFAULT 'x'                      ('x')
//! DEFAULT CURRENT_TIMESTAMP        (getdate())
//! CHECK (a > 0 and b in (1, 2))    ([a]>(0) AND ([b]=(2) OR [b]=(1)))
//! CHECK (cast(c as int) <> -1)     (CONVERT([int],[c])<>(-1))
//! ```
//! Columns get brackets, numbers parentheses, built-in functions small letters; IN and BETWEEN become comparisons, the list of IN from its
//! end (definitions in sql-docs, "sys.check_constraints", "sys.default_constraints", and in scripts that SQL Server generated). The catalog
//! keeps texts as written, so this applies to databases of any age.

use crate::ast::{
    BinaryOperator, Case, ComparisonOperator, DataType, Expression, ExpressionKind, FunctionCall, Literal, Name,
    TypeArgument, UnaryOperator,
};
use crate::parser::{parse_condition, parse_expression};

/// Texts are a few operators deep. One that is deeper is shown as it was written.
const DEPTH_MAX: usize = 100;

/// The definition of a default, in its parentheses.
pub(crate) fn default_text(text: &str) -> String {
    let parsed = parse_expression(text).ok();
    let made = parsed.and_then(|parsed| Printer { depth: 0 }.scalar(&parsed, Rank::Or));
    format!("({})", made.as_deref().unwrap_or(text))
}

/// The definition of a CHECK, in its parentheses.
pub(crate) fn condition_text(text: &str) -> String {
    let parsed = parse_condition(text).ok();
    let made = parsed.and_then(|parsed| Printer { depth: 0 }.condition(&parsed, Rank::Or));
    format!("({})", made.as_deref().unwrap_or(text))
}

/// The definition of the filter of an index, in its parentheses: IN stays what it is (definitions that the SqlServerSimulator project has read from
/// SQL Server 2025).
pub(crate) fn filter_text(text: &str) -> String {
    let parsed = parse_condition(text).ok();
    let made = parsed.and_then(|parsed| Printer { depth: 0 }.filter(&parsed));
    format!("({})", made.as_deref().unwrap_or(text))
}

/// How strongly an operator binds, the weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Or,
    And,
    Not,
    Comparison,
    Additive,
    Multiplicative,
    Unary,
}

struct Printer {
    depth: usize,
}

/// `None` where there is a part that SQL Server's form is not known of.
type Made = Option<String>;

impl Printer {
    fn deeper(&self) -> Option<Printer> {
        (self.depth < DEPTH_MAX).then_some(Printer { depth: self.depth + 1 })
    }

    /// A condition where an operator of `around` stands about it.
    fn condition(&self, condition: &Expression, around: Rank) -> Made {
        let inner = self.deeper()?;
        let (text, rank) = match &condition.kind {
            ExpressionKind::And(parts) => (inner.joined(parts.iter(), " AND ", Rank::And)?, Rank::And),
            ExpressionKind::Or(parts) => (inner.joined(parts.iter(), " OR ", Rank::Or)?, Rank::Or),
            ExpressionKind::Not(operand) => (format!("NOT {}", inner.condition(operand, Rank::Not)?), Rank::Not),
            ExpressionKind::Comparison { left, operator, right } => {
                (inner.compared(left, *operator, right)?, Rank::Comparison)
            }
            ExpressionKind::IsNull { operand, negated } => {
                let operand = inner.scalar(operand, Rank::Comparison)?;
                (
                    format!("{operand} IS {}NULL", if *negated { "NOT " } else { "" }),
                    Rank::Comparison,
                )
            }
            ExpressionKind::Between(between) => {
                let low = inner.compared(&between.operand, ComparisonOperator::GreaterOrEqual, &between.low)?;
                let high = inner.compared(&between.operand, ComparisonOperator::LessOrEqual, &between.high)?;
                negated(between.negated, format!("{low} AND {high}"), Rank::And)
            }
            ExpressionKind::InList {
                operand,
                negated: is_negated,
                list,
            } => {
                let from_the_end = list.iter().rev();
                let equal = from_the_end.map(|item| inner.compared(operand, ComparisonOperator::Equal, item));
                let rank = if list.len() > 1 { Rank::Or } else { Rank::Comparison };
                negated(*is_negated, equal.collect::<Option<Vec<_>>>()?.join(" OR "), rank)
            }
            ExpressionKind::Like(like) => {
                let mut text = format!(
                    "{} like {}",
                    inner.scalar(&like.operand, Rank::Comparison)?,
                    inner.scalar(&like.pattern, Rank::Comparison)?
                );
                if let Some(escape) = &like.escape {
                    text.push_str(&format!(" escape {}", inner.scalar(escape, Rank::Comparison)?));
                }
                negated(like.negated, text, Rank::Comparison)
            }
            _ => return None,
        };
        Some(if rank < around { format!("({text})") } else { text })
    }

    fn filter(&self, condition: &Expression) -> Made {
        let inner = self.deeper()?;
        match &condition.kind {
            ExpressionKind::And(parts) => {
                let parts = parts.iter().map(|part| inner.filter(part));
                Some(parts.collect::<Option<Vec<_>>>()?.join(" AND "))
            }
            ExpressionKind::InList {
                operand,
                negated: false,
                list,
            } if list.len() > 1 => {
                let items = list.iter().map(|item| inner.scalar(item, Rank::Comparison));
                let operand = inner.scalar(operand, Rank::Comparison)?;
                Some(format!(
                    "{operand} IN ({})",
                    items.collect::<Option<Vec<_>>>()?.join(", ")
                ))
            }
            _ => self.condition(condition, Rank::And),
        }
    }

    fn joined<'e>(&self, parts: impl Iterator<Item = &'e Expression>, word: &str, rank: Rank) -> Made {
        let parts = parts.map(|part| self.condition(part, rank));
        Some(parts.collect::<Option<Vec<_>>>()?.join(word))
    }

    fn compared(&self, left: &Expression, operator: ComparisonOperator, right: &Expression) -> Made {
        let sign = match operator {
            ComparisonOperator::Equal => "=",
            ComparisonOperator::NotEqual => "<>",
            ComparisonOperator::Less => "<",
            ComparisonOperator::LessOrEqual => "<=",
            ComparisonOperator::Greater => ">",
            ComparisonOperator::GreaterOrEqual => ">=",
        };
        let (left, right) = (
            self.scalar(left, Rank::Comparison)?,
            self.scalar(right, Rank::Comparison)?,
        );
        Some(format!("{left}{sign}{right}"))
    }

    /// A scalar where an operator of `around` stands about it.
    fn scalar(&self, expression: &Expression, around: Rank) -> Made {
        let inner = self.deeper()?;
        let (text, rank) = match &expression.kind {
            ExpressionKind::Literal(literal) => return literal_text(literal),
            ExpressionKind::Column(name) => return Some(bracketed(name)),
            ExpressionKind::NextValueFor(next) => return Some(format!("NEXT VALUE FOR {}", bracketed(&next.sequence))),
            ExpressionKind::Function(call) => return inner.function(call),
            ExpressionKind::Case(case) => return inner.case(case),
            ExpressionKind::Cast(cast) => {
                let operand = inner.scalar(&cast.operand, Rank::Or)?;
                let data_type = type_text(&cast.data_type);
                return Some(match cast.or_null {
                    true => format!("TRY_CAST({operand} AS {data_type})"),
                    false => format!("CONVERT({data_type},{operand})"),
                });
            }
            ExpressionKind::Convert(convert) => {
                let operand = inner.scalar(&convert.operand, Rank::Or)?;
                let style = match &convert.style {
                    Some(style) => format!(",{}", inner.scalar(style, Rank::Or)?),
                    None => String::new(),
                };
                let word = if convert.or_null { "TRY_CONVERT" } else { "CONVERT" };
                return Some(format!("{word}({},{operand}{style})", type_text(&convert.data_type)));
            }
            ExpressionKind::Collate { operand, collation } => {
                let operand = inner.scalar(operand, Rank::Unary)?;
                (format!("{operand} collate {collation}"), Rank::Additive)
            }
            ExpressionKind::Unary { operator, operand } => return inner.unary(*operator, operand),
            ExpressionKind::Binary { left, operator, right } => {
                let (sign, rank, right_rank) = binary(*operator);
                let (left, right) = (inner.scalar(left, rank)?, inner.scalar(right, right_rank)?);
                (format!("{left}{sign}{right}"), rank)
            }
            _ => return None,
        };
        Some(if rank < around { format!("({text})") } else { text })
    }

    /// A number keeps its sign in its parentheses.
    fn unary(&self, operator: UnaryOperator, operand: &Expression) -> Made {
        let sign = match operator {
            UnaryOperator::Minus => "-",
            UnaryOperator::Plus => return self.scalar(operand, Rank::Unary),
            UnaryOperator::BitNot => "~",
        };
        let inner = self.scalar(operand, Rank::Unary)?;
        let is_number = matches!(
            operand.kind,
            ExpressionKind::Literal(Literal::Integer(_) | Literal::Decimal(_) | Literal::Float(_) | Literal::Money(_))
        );
        match inner.strip_prefix('(').filter(|_| is_number && sign == "-") {
            Some(rest) => Some(format!("(-{rest}")),
            None => Some(format!("{sign}{inner}")),
        }
    }

    fn case(&self, case: &Case) -> Made {
        let mut text = "case".to_owned();
        if let Some(operand) = &case.operand {
            text.push_str(&format!(" {}", self.scalar(operand, Rank::Comparison)?));
        }
        for branch in &case.branches {
            let when = match case.operand {
                Some(_) => self.scalar(&branch.when, Rank::Comparison)?,
                None => self.condition(&branch.when, Rank::Or)?,
            };
            text.push_str(&format!(
                " when {when} then {}",
                self.scalar(&branch.then, Rank::Comparison)?
            ));
        }
        if let Some(otherwise) = &case.otherwise {
            text.push_str(&format!(" else {}", self.scalar(otherwise, Rank::Comparison)?));
        }
        text.push_str(" end");
        Some(text)
    }

    fn function(&self, call: &FunctionCall) -> Made {
        if call.star || call.distinct || call.has_array_wrapper || call.over.is_some() || !call.within_group.is_empty()
        {
            return None;
        }
        let is_own = call.name.parts.len() == 1;
        let name = match is_own {
            true => call.name.object().to_ascii_lowercase(),
            false => bracketed(&call.name),
        };
        if let ("iif", [condition, then, otherwise]) = (name.as_str(), call.arguments.as_slice()) {
            let (then, otherwise) = (
                self.scalar(then, Rank::Comparison)?,
                self.scalar(otherwise, Rank::Comparison)?,
            );
            return Some(format!(
                "case when {} then {then} else {otherwise} end",
                self.condition(condition, Rank::Or)?
            ));
        }
        // Functions that are written without parentheses are others'.
        let name = match name.as_str() {
            "current_timestamp" => "getdate",
            "current_user" | "session_user" | "user" => "user_name",
            "system_user" => "suser_sname",
            other => other,
        };
        let takes_part = is_own
            && [
                "datepart",
                "datename",
                "dateadd",
                "datediff",
                "datediff_big",
                "datetrunc",
                "date_bucket",
            ]
            .contains(&name);
        let arguments = call
            .arguments
            .iter()
            .enumerate()
            .map(|(place, argument)| match &argument.kind {
                ExpressionKind::Column(part) if takes_part && place == 0 => Some(part.object().to_ascii_lowercase()),
                _ => self.scalar(argument, Rank::Or),
            });
        Some(format!("{name}({})", arguments.collect::<Option<Vec<_>>>()?.join(",")))
    }
}

/// A condition and its rank, with NOT about it if it is negated.
fn negated(is_negated: bool, text: String, rank: Rank) -> (String, Rank) {
    match is_negated {
        false => (text, rank),
        true if rank < Rank::Comparison => (format!("NOT ({text})"), Rank::Not),
        true => (format!("NOT {text}"), Rank::Not),
    }
}

/// An operator's sign, its rank, and the rank that its right side must have to stand without parentheses.
fn binary(operator: BinaryOperator) -> (&'static str, Rank, Rank) {
    let (sign, rank) = match operator {
        BinaryOperator::Add => ("+", Rank::Additive),
        BinaryOperator::Subtract => ("-", Rank::Additive),
        BinaryOperator::BitAnd => ("&", Rank::Additive),
        BinaryOperator::BitOr => ("|", Rank::Additive),
        BinaryOperator::BitXor => ("^", Rank::Additive),
        BinaryOperator::Multiply => ("*", Rank::Multiplicative),
        BinaryOperator::Divide => ("/", Rank::Multiplicative),
        BinaryOperator::Modulo => ("%", Rank::Multiplicative),
    };
    let right = if rank == Rank::Additive {
        Rank::Multiplicative
    } else {
        Rank::Unary
    };
    (sign, rank, right)
}

fn bracketed(name: &Name) -> String {
    let parts = name
        .parts
        .iter()
        .map(|part| format!("[{}]", part.text.replace(']', "]]")));
    parts.collect::<Vec<_>>().join(".")
}

fn type_text(data_type: &DataType) -> String {
    let name = match data_type.name.parts.as_slice() {
        [only] => format!("[{}]", only.text.to_ascii_lowercase()),
        _ => bracketed(&data_type.name),
    };
    let arguments: Vec<String> = data_type
        .arguments
        .iter()
        .map(|argument| match argument {
            TypeArgument::Number(number) => number.to_string(),
            TypeArgument::Max => "max".to_owned(),
            TypeArgument::Collection { name, .. } => bracketed(name),
        })
        .collect();
    match arguments.is_empty() {
        true => name,
        false => format!("{name}({})", arguments.join(",")),
    }
}

fn literal_text(literal: &Literal) -> Made {
    Some(match literal {
        Literal::Null => "NULL".to_owned(),
        Literal::Integer(number) => format!("({number})"),
        Literal::Decimal(number) => {
            let scale = usize::from(number.scale);
            let digits = format!("{:0width$}", number.unscaled, width = scale + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale);
            match scale {
                0 => format!("({whole}.)"),
                _ => format!("({whole}.{fraction})"),
            }
        }
        Literal::Float(number) => {
            let text = format!("{number:.15e}");
            let (digits, exponent) = text.split_once('e')?;
            let exponent: i32 = exponent.parse().ok()?;
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("({digits}e{sign}{:03})", exponent.abs())
        }
        Literal::Money(units) => format!("(${}.{:04})", units / 10_000, units % 10_000),
        Literal::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Literal::NationalText(text) => format!("N'{}'", text.replace('\'', "''")),
        Literal::Binary(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("0x{digits}")
        }
        Literal::Default => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_made_anew_as_the_catalog_shows_them() {
        let defaults = [
            ("50", "((50))"),
            ("(50)", "((50))"),
            ("-1", "((-1))"),
            ("1.50", "((1.50))"),
            ("1e0", "((1.000000000000000e+000))"),
            ("'it''s'", "('it''s')"),
            ("N'x'", "(N'x')"),
            ("NULL", "(NULL)"),
            ("0x0A", "(0x0a)"),
            ("GETDATE()", "(getdate())"),
            ("CURRENT_TIMESTAMP", "(getdate())"),
            ("newid ( )", "(newid())"),
            ("1 + 2 * 3", "((1)+(2)*(3))"),
            ("(1 + 2) * 3", "(((1)+(2))*(3))"),
            ("10 - (2 - 1)", "((10)-((2)-(1)))"),
            ("dateadd(DAY, 1, getdate())", "(dateadd(day,(1),getdate()))"),
            ("cast(getdate() as date)", "(CONVERT([date],getdate()))"),
            ("convert(varchar(10), 5, 1)", "(CONVERT([varchar](10),(5),(1)))"),
            ("dbo.f(1)", "([dbo].[f]((1)))"),
        ];
        for (written, shown) in defaults {
            assert_eq!(default_text(written), shown, "{written}");
        }
        let conditions = [
            ("a > 0", "([a]>(0))"),
            ("(a>0)", "([a]>(0))"),
            ("a >= 0 and b != 5", "([a]>=(0) AND [b]<>(5))"),
            ("a = 1 or b = 2 and c = 3", "([a]=(1) OR [b]=(2) AND [c]=(3))"),
            ("(a = 1 or b = 2) and c = 3", "(([a]=(1) OR [b]=(2)) AND [c]=(3))"),
            ("a in (1, 2)", "([a]=(2) OR [a]=(1))"),
            (
                "a in (1, 2) and b is not null",
                "(([a]=(2) OR [a]=(1)) AND [b] IS NOT NULL)",
            ),
            ("a not in (1, 2)", "(NOT ([a]=(2) OR [a]=(1)))"),
            ("a between 1 and 5", "([a]>=(1) AND [a]<=(5))"),
            ("b like 'x%' escape '!'", "([b] like 'x%' escape '!')"),
            ("not b like N'x%'", "(NOT [b] like N'x%')"),
            ("LEN(b) > 0", "(len([b])>(0))"),
            ("\"odd ]name\" < -1", "([odd ]]name]<(-1))"),
            (
                "case when a > 0 then 1 else 0 end = 1",
                "(case when [a]>(0) then (1) else (0) end=(1))",
            ),
        ];
        for (written, shown) in conditions {
            assert_eq!(condition_text(written), shown, "{written}");
        }
    }

    #[test]
    fn what_is_not_known_is_shown_as_it_was_written() {
        assert_eq!(condition_text("a is distinct from 1"), "(a is distinct from 1)");
        let deep = format!("{}1{} > 0", "(1 + ".repeat(150), ")".repeat(150));
        assert_eq!(condition_text(&deep), format!("({deep})"));
        assert_eq!(default_text("no such ("), "(no such ()");
    }
}
