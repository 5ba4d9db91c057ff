//! Rows as JSON: FOR JSON.

use engine::error::Result;
use engine::types::Value;

use super::{Writer, first_that_differs};
use crate::plan::{JsonContent, JsonForm, JsonMember, WrittenColumn};
use crate::scalar::json::{push_string, push_value};

pub(super) struct JsonWriter<'p> {
    form: &'p JsonForm,
    /// By level: the columns that two rows of one object are equal in.
    columns: Vec<Vec<WrittenColumn>>,
    /// The row before.
    before: Option<Vec<Value>>,
}

impl<'p> JsonWriter<'p> {
    pub(super) fn new(form: &'p JsonForm) -> JsonWriter<'p> {
        let columns_of = |members: &[JsonMember]| {
            let mut columns = Vec::new();
            collect(members, &mut columns);
            columns
        };
        JsonWriter {
            columns: form.levels.iter().map(|level| columns_of(&level.members)).collect(),
            form,
            before: None,
        }
    }

    /// Writes an object of a level up to where those of the next one begin.
    fn open(&self, output: &mut String, level: usize, row: &[Value]) -> Result<()> {
        let Some(own) = self.form.levels.get(level) else {
            return Ok(());
        };
        output.push('{');
        let is_empty = !self.push_members(output, &own.members, row)?;
        if let Some(next) = self.form.levels.get(level + 1) {
            if !is_empty {
                output.push(',');
            }
            push_string(output, &next.name);
            output.push_str(":[");
        }
        Ok(())
    }

    /// Closes what is open from a level on; the array of the level itself stays open.
    fn close(&self, output: &mut String, level: usize) {
        for _ in level + 1..self.form.levels.len() {
            output.push_str("}]");
        }
        output.push('}');
    }

    /// Writes members; answers whether there were any.
    fn push_members(&self, output: &mut String, members: &[JsonMember], row: &[Value]) -> Result<bool> {
        let mut is_first = true;
        for member in members {
            if !self.form.has_nulls && is_null(&member.content, row) {
                continue;
            }
            if !is_first {
                output.push(',');
            }
            is_first = false;
            push_string(output, &member.name);
            output.push(':');
            match &member.content {
                JsonContent::Column(column) => {
                    let value = row.get(column.place).unwrap_or(&Value::Null);
                    push_value(output, value, column.sql_type, column.is_fragment)?;
                }
                JsonContent::Object(members) => {
                    output.push('{');
                    self.push_members(output, members, row)?;
                    output.push('}');
                }
            }
        }
        Ok(!is_first)
    }
}

impl Writer for JsonWriter<'_> {
    fn row(&mut self, output: &mut String, row: &[Value]) -> Result<()> {
        let first = match &self.before {
            None => {
                if let Some(root) = &self.form.root {
                    output.push('{');
                    push_string(output, root);
                    output.push(':');
                }
                if self.form.is_array {
                    output.push('[');
                }
                0
            }
            Some(before) => {
                let first = first_that_differs(&self.columns, before, row);
                self.close(output, first);
                output.push(',');
                first
            }
        };
        for level in first..self.form.levels.len() {
            self.open(output, level, row)?;
        }
        self.before = Some(row.to_vec());
        Ok(())
    }

    fn end(&mut self, output: &mut String) {
        self.close(output, 0);
        if self.form.is_array {
            output.push(']');
        }
        if self.form.root.is_some() {
            output.push('}');
        }
    }
}

/// Whether nothing of a member is there.
fn is_null(content: &JsonContent, row: &[Value]) -> bool {
    match content {
        JsonContent::Column(column) => row.get(column.place).is_none_or(Value::is_null),
        JsonContent::Object(members) => members.iter().all(|member| is_null(&member.content, row)),
    }
}

fn collect(members: &[JsonMember], columns: &mut Vec<WrittenColumn>) {
    for member in members {
        match &member.content {
            JsonContent::Column(column) => columns.push(*column),
            JsonContent::Object(members) => collect(members, columns),
        }
    }
}
