//! The names of the columns of a row.

use std::fmt;

/// What a place of a row holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// A column of a table: database, schema, table, column.
    Column(Box<[String; 4]>),
    /// Anything else, as plans write it.
    Expression(String),
}

impl Named {
    /// The name that plans give to a value computed at this place of a row.
    pub fn computed(place: usize) -> Named {
        Named::Expression(format!("[Expr{:04}]", 1_000 + place))
    }

    /// The name of a bitmap whose keys begin with what a place of a row holds.
    pub fn bitmap(places: &[usize]) -> Named {
        Named::Expression(format!("[Bitmap{:04}]", 1_000 + places.first().unwrap_or(&0)))
    }
}

impl fmt::Display for Named {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Named::Column(parts) => formatter.write_str(&quoted(parts.iter())),
            Named::Expression(text) => formatter.write_str(text),
        }
    }
}

/// The parts of a name, each in brackets.
pub fn quoted<S: AsRef<str>>(parts: impl IntoIterator<Item = S>) -> String {
    let parts: Vec<String> = parts
        .into_iter()
        .map(|part| format!("[{}]", part.as_ref().replace(']', "]]")))
        .collect();
    parts.join(".")
}

/// The names of the columns of a row.
#[derive(Debug, Clone, Default)]
pub struct Names(Vec<Option<Named>>);

impl Names {
    /// What a place is called.
    pub fn of(&self, place: usize) -> Named {
        let name = self.0.get(place).cloned().flatten();
        name.unwrap_or_else(|| Named::computed(place))
    }

    /// Gives a place a name.
    pub fn set(&mut self, place: usize, name: Named) {
        if self.0.len() <= place {
            self.0.resize(place + 1, None);
        }
        self.0[place] = Some(name);
    }

    /// Takes over the names of another side of a join.
    pub fn extend(&mut self, other: Names) {
        for (place, name) in other.0.into_iter().enumerate() {
            if let Some(name) = name {
                self.set(place, name);
            }
        }
    }
}
