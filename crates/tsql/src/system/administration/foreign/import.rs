//! One import, from its first message to its new name.

use engine::error::{Error, Result};
use engine::instance::{CreateDatabase, Operation};
use engine::types::{Collation, Value};
use genuine::PageSource;
use genuine::catalog::objects::{ObjectName, quoted};
use genuine::catalog::{Catalog, Table};
use genuine::recovery::Recovered;
use genuine::schema::{Dialect, Statement, after_modules, after_rows, before_rows, collation_name, left_out, tables};

use super::super::super::{Host, SystemContext};
use super::rows::{TableRows, is_sent};

/// Where the import is put when it is whole.
pub(super) enum Place<'o> {
    /// No database may have the name.
    New,
    /// WITH REPLACE: a database of that name is dropped then.
    Replaced,
    /// In place of the database that is RESTORING from the sets.
    Over(&'o Operation),
}

/// The database that the import makes.
pub(super) struct Target<'o> {
    pub name: String,
    pub place: Place<'o>,
    pub stats_percent: Option<u8>,
    /// Its files; its name is not this one until the end.
    pub create: CreateDatabase,
}

/// What an import did.
pub(super) struct Imported {
    pub pages: u64,
    pub micros: u64,
}

/// An import under way.
pub(super) struct Import<'i> {
    context: &'i SystemContext<'i>,
    host: &'i mut dyn Host,
    source: &'i Recovered<'i>,
    path: &'i str,
}

impl<'i> Import<'i> {
    pub fn new(
        context: &'i SystemContext<'i>,
        host: &'i mut dyn Host,
        source: &'i Recovered<'i>,
        path: &'i str,
    ) -> Import<'i> {
        Import {
            context,
            host,
            source,
            path,
        }
    }

    /// Imports everything.
    ///
    /// # Errors
    /// 3154 for a name that is taken, unless it is replaced; 3203 for what cannot be read; those of making a database and its tables. Nothing
    /// is left of it then.
    pub fn run(mut self, mut target: Target<'_>) -> Result<Imported> {
        let clock = &self.context.instance.env.clock;
        let begun = clock.now_micros();
        let catalog = Catalog::open(self.source).map_err(|fault| super::damaged(self.path, &fault))?;
        let is_there = self.context.slot(&target.name).is_some();
        if is_there && matches!(target.place, Place::New) {
            return Err(Error::set_of_another_database(&target.name));
        }
        for sentence in left_out(&catalog) {
            self.say(&sentence)?;
        }
        self.note_recovery(&target.name);
        let before = self.context.database.name();
        let mut create = std::mem::take(&mut target.create);
        create.name = format!("{} (import)", target.name);
        create.collation = collation_of(catalog.boot.collation)?;
        super::super::let_go_of_plans(self.context);
        self.context.instance.create_unfinished_database(&create)?;
        let filled = self.fill(&create.name, &catalog, target.stats_percent);
        let left = self.host.change_database(&before);
        super::super::let_go_of_plans(self.context);
        let named = filled.and(left).and_then(|()| self.take_name(&create.name, &target));
        if let Err(error) = named {
            if let Err(kept) = self.drop_database(&create.name) {
                self.say(&format!("database '{}' is left: {}", create.name, kept.message))?;
            }
            return Err(error);
        }
        Ok(Imported {
            pages: self.source.page_count(),
            micros: clock.now_micros().saturating_sub(begun),
        })
    }

    /// Gives the import its name, and removes the database that it replaces: at once, so that after a crash there is either one.
    fn take_name(&self, import: &str, target: &Target<'_>) -> Result<()> {
        let session = self.context.engine.borrow();
        let (instance, name) = (self.context.instance, &target.name);
        match target.place {
            Place::New => instance.publish_database(import, name, false, &session),
            Place::Replaced => instance.publish_database(import, name, true, &session),
            Place::Over(former) => instance.publish_over(import, name, former, &session),
        }
    }

    fn drop_database(&self, name: &str) -> Result<()> {
        let session = self.context.engine.borrow();
        self.context.instance.drop_database(name, &session)
    }

    /// A line of the error log.
    fn note(&self, text: &str) {
        self.context.instance.env.errorlog.write("Server", text);
    }

    /// What was done to the pages before they were read.
    fn note_recovery(&self, name: &str) {
        let done = self.source.done();
        if !done.is_nothing() {
            self.note(&format!(
                "Import of database '{name}': {} records of the log were done on {} pages, and {} transactions without an end were rolled back.",
                done.records_redone, done.pages, done.transactions_undone
            ));
        }
    }

    /// A message that is not an error.
    fn say(&mut self, text: &str) -> Result<()> {
        self.host.message(&Error::new(0, 0, 1, text.to_owned()))
    }

    fn fill(&mut self, name: &str, catalog: &Catalog, stats_percent: Option<u8>) -> Result<()> {
        self.host.change_database(name)?;
        for statement in before_rows(catalog, Dialect::Vlflab) {
            self.host.execute(&statement.text)?;
        }
        self.load(catalog, stats_percent)?;
        let (modules, others): (Vec<Statement>, Vec<Statement>) = after_rows(catalog, Dialect::Vlflab)
            .into_iter()
            .partition(|statement| statement.settings.is_some());
        for statement in others {
            self.host.execute(&tried(&statement))?;
        }
        self.make_modules(catalog, modules)?;
        after_modules(catalog).try_for_each(|statement| self.host.execute(&tried(&statement)))
    }

    fn load(&mut self, catalog: &Catalog, stats_percent: Option<u8>) -> Result<()> {
        let all: u64 = tables(catalog, Dialect::Vlflab).map(said_rows).sum();
        let mut progress = Progress {
            step: u64::from(stats_percent.unwrap_or(100)),
            is_told: stats_percent.is_some(),
            told: 0,
            done: 0,
            all,
        };
        for table in tables(catalog, Dialect::Vlflab) {
            let mut rows = TableRows::new(self.source, table, self.path);
            self.host.load(&announcement(table), &mut rows)?;
            let counted = rows.count;
            if !self.source.done().is_nothing() {
                // What the catalog counts is not brought forward by its log.
                self.note(&format!("table {}: {counted} rows{}", table.name, rows.sums()));
            } else if counted != said_rows(table) {
                let said = said_rows(table);
                self.say(&format!(
                    "table {}: {counted} rows, and its catalog says {said}",
                    table.name
                ))?;
            }
            self.reseed(table)?;
            progress.done += counted;
            progress.tell(self.host)?;
        }
        Ok(())
    }

    /// Rows that were deleted may have had larger values than those that are there.
    fn reseed(&mut self, table: &Table) -> Result<()> {
        let identity = table.columns.iter().find_map(|column| column.identity);
        let Some(last) = identity.and_then(|identity| identity.last) else {
            return Ok(());
        };
        self.host.execute(&format!(
            "DBCC CHECKIDENT ({}, RESEED, {last}) WITH NO_INFOMSGS;",
            literal(&table.name.to_string())
        ))
    }

    /// Modules in an order in which each finds what it needs: those that fail are tried again after the others.
    fn make_modules(&mut self, catalog: &Catalog, mut modules: Vec<Statement>) -> Result<()> {
        loop {
            let before = modules.len();
            let mut failed = Vec::new();
            for statement in modules {
                self.host.execute(&format!(
                    "BEGIN TRY EXEC ({}); END TRY BEGIN CATCH DECLARE @ignored int; END CATCH",
                    literal(&statement.text)
                ))?;
                if !self.is_made(catalog, &statement)? {
                    failed.push(statement);
                }
            }
            modules = failed;
            if modules.is_empty() || modules.len() == before {
                break;
            }
        }
        for statement in modules {
            self.host.execute(&tried(&statement))?;
        }
        Ok(())
    }

    fn is_made(&mut self, catalog: &Catalog, statement: &Statement) -> Result<bool> {
        let module = catalog
            .modules
            .iter()
            .find(|module| module.definition.as_ref() == Some(&statement.text));
        let Some(module) = module else { return Ok(true) };
        let found = self
            .host
            .value_of(&format!("OBJECT_ID({})", object_literal(&module.name)))?;
        Ok(!matches!(found, Value::Null))
    }
}

/// Ours for the collation of a database.
fn collation_of(id: u32) -> Result<Collation> {
    Collation::from_name(collation_name(id))
        .ok_or_else(|| Error::assertion("a foreign collation is named as one of ours"))
}

/// How far the rows are, in steps of STATS.
struct Progress {
    step: u64,
    is_told: bool,
    told: u64,
    done: u64,
    all: u64,
}

impl Progress {
    fn tell(&mut self, host: &mut dyn Host) -> Result<()> {
        while self.is_told && self.told + self.step <= 100 && (self.told + self.step) * self.all <= self.done * 100 {
            self.told += self.step;
            host.message(&Error::percent_processed(self.told))?;
        }
        Ok(())
    }
}

fn said_rows(table: &Table) -> u64 {
    u64::try_from(table.catalog_rows()).unwrap_or(0)
}

fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

fn object_literal(name: &ObjectName) -> String {
    literal(&name.to_string())
}

/// A statement whose failure is said, and ends nothing.
fn tried(statement: &Statement) -> String {
    format!(
        "BEGIN TRY EXEC ({}); END TRY BEGIN CATCH PRINT {} + ERROR_MESSAGE(); END CATCH",
        literal(&statement.text),
        literal(&format!("{} is left out: ", statement.makes))
    )
}

/// INSERT BULK of the columns whose values are sent.
fn announcement(table: &Table) -> String {
    let columns = table.stored_columns().filter(|column| is_sent(column));
    let columns = columns.map(|column| {
        let lacking = genuine::schema::type_for(column, Dialect::Vlflab);
        format!("{} {lacking}", quoted(&column.name))
    });
    format!(
        "INSERT BULK {} ({}) WITH (KEEP_NULLS, TABLOCK)",
        table.name,
        columns.collect::<Vec<_>>().join(", ")
    )
}
