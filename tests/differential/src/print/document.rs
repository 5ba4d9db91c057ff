//! Sources of JSON and sources turned around, and rows as one text of JSON.

use super::{Printer, joined};
use crate::ast::{AggregateFunction, Expression, Query, Source};
use crate::dialect::Dialect;

/// The document that rows are read from. A number that is NULL is not in it, a text that is NULL is `null`.
fn document(rows: &[(Option<i64>, Option<&'static str>)]) -> String {
    let rows = joined(rows, ",", |(number, text)| {
        let number = number.map_or(String::new(), |number| format!("\"x0\":{number},"));
        let text = text.map_or("null".to_owned(), |text| format!("\"{text}\""));
        format!("{{{number}\"x1\":{text}}}")
    });
    format!("'[{rows}]'")
}

impl Printer<'_> {
    pub(super) fn json(&self, rows: &[(Option<i64>, Option<&'static str>)], alias: &str) -> String {
        let document = document(rows);
        match self.dialect {
            Dialect::TransactSql => format!("openjson({document}) with (x0 int, x1 varchar(20)) as {alias}"),
            Dialect::Sqlite => format!(
                "(select json_extract(value, '$.x0') as x0, json_extract(value, '$.x1') as x1 \
                 from json_each({document})) as {alias}"
            ),
            Dialect::Postgres => format!("jsonb_to_recordset({document}) as {alias}(x0 int, x1 text)"),
        }
    }

    pub(super) fn elements(&self, left: &Source, elements: &[Expression], alias: &str) -> String {
        let elements = joined(elements, ", ", |element| self.expression(element));
        let left = match (self.dialect, left) {
            (Dialect::Sqlite, Source::Join(..)) => format!("({})", self.source(left)),
            _ => self.source(left),
        };
        match self.dialect {
            Dialect::TransactSql => format!(
                "{left} cross apply (select cast(value as int) as value from openjson(json_array({elements} null on null))) as {alias}"
            ),
            Dialect::Sqlite => format!("{left} join json_each(json_array({elements})) as {alias}"),
            Dialect::Postgres => format!(
                "{left} cross join lateral (select cast(value as int) as value \
                 from jsonb_array_elements_text(jsonb_build_array({elements})) as elements(value)) as {alias}"
            ),
        }
    }

    pub(super) fn pivot(&self, query: &Query, function: AggregateFunction, values: &[i64], alias: &str) -> String {
        let query = self.query(query);
        let name = match function {
            AggregateFunction::Count | AggregateFunction::CountRows => "count",
            AggregateFunction::Sum | AggregateFunction::Average => "sum",
            AggregateFunction::Min => "min",
            AggregateFunction::Max => "max",
        };
        let mut place = 0;
        if self.is(Dialect::TransactSql) {
            let items = joined(values, "", |value| {
                place += 1;
                format!(", p.[{value}] as x{place}")
            });
            let values = joined(values, ", ", |value| format!("[{value}]"));
            return format!(
                "(select p.x0 as x0{items} from ({query}) as q pivot ({name}(x2) for x1 in ({values})) as p) as {alias}"
            );
        }
        let items = joined(values, "", |value| {
            place += 1;
            format!(", cast({name}(case when q.x1 = {value} then q.x2 end) as int) as x{place}")
        });
        format!("(select q.x0 as x0{items} from ({query}) as q group by q.x0) as {alias}")
    }

    pub(super) fn unpivot(&self, query: &Query, alias: &str) -> String {
        let query = self.query(query);
        if self.is(Dialect::TransactSql) {
            // Its columns are of one type (8167): a rank is a bigint, and a count is not.
            return format!(
                "(select u.x0 as x0, cast(u.name as varchar(10)) as name, u.value as value \
                 from (select r.x0 as x0, cast(r.x1 as int) as x1, cast(r.x2 as int) as x2 from ({query}) as r) as q \
                 unpivot (value for name in (x1, x2)) as u) as {alias}"
            );
        }
        let part = |column: &str| {
            format!(
                "select q.x0 as x0, cast('{column}' as text) as name, q.{column} as value from ({query}) as q \
                 where q.{column} is not null"
            )
        };
        format!("({} union all {}) as {alias}", part("x1"), part("x2"))
    }

    pub(super) fn for_json(&self, query: &Query) -> String {
        let text = self.query(query);
        let members: Vec<usize> = (0..query.kinds.len()).collect();
        let members = joined(&members, ", ", |place| format!("'x{place}', q.x{place}"));
        match self.dialect {
            Dialect::TransactSql => format!("({text} for json path, include_null_values)"),
            Dialect::Sqlite => {
                format!("(select nullif(json_group_array(json_object({members})), '[]') from ({text}) as q)")
            }
            // Blanks between its parts are of no meaning; the texts have none.
            Dialect::Postgres => format!(
                "(select regexp_replace(cast(json_agg(json_build_object({members})) as text), '\\s', '', 'g') from ({text}) as q)"
            ),
        }
    }
}
