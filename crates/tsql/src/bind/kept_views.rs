//! The indexed views that a change of rows keeps right (`modify::views`).
//!
//! For each of them the view's query is bound once more, in another form: with the changed rows, a table variable, in place of the target, and
//! without its GROUP BY, with what is summed in place of each sum. What comes out are the rows that the changed rows add to the view's rows,
//! or take from them. The other tables are read under READCOMMITTEDLOCK.

use std::sync::Arc;

use engine::catalog::{CatalogObject, ColumnDefinition, TableDefinition};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::types::SqlType;

use super::Binder;
use crate::ast::{
    CreateView, Expression, ExpressionKind, FunctionCall, GroupItem, Literal, Query, QueryBody, SelectItem, TableHint,
    TableSource,
};
use crate::messages;
use crate::modules::{Module, ModuleBody, TableVariableShape, VariableColumn, VariableScope, has_name};
use crate::plan::{BoundTable, KeptColumn, KeptView, RowAction, Target, TargetColumns};
use crate::state::Reading;

/// The table in whose place the changed rows stand.
#[derive(Clone)]
pub(super) struct ChangedTable {
    database_id: u16,
    object_id: u32,
    pub(super) shape: Arc<TableVariableShape>,
}

impl ChangedTable {
    pub(super) fn is(&self, database: &Database, table: &TableDefinition) -> bool {
        (self.database_id, self.object_id) == (database.id, table.object_id)
    }
}

/// The slot of the table variable that the changed rows are.
pub(super) const CHANGED_ROWS: usize = 0;

impl Binder<'_> {
    /// Has a target keep the indexed views right that read what these actions, and an update of these columns, change.
    ///
    /// # Errors
    /// Those of opening the views and of binding their queries.
    pub(super) fn with_views(
        &self,
        target: &Target,
        columns: Arc<TargetColumns>,
        actions: &[(RowAction, &[usize])],
    ) -> Result<Arc<TargetColumns>> {
        let Target::Table(table) = target else {
            return Ok(columns);
        };
        let (database, definition) = (table.table.database(), table.table.definition());
        let mut views = Vec::new();
        for id in &definition.indexed_views {
            let object = database.catalog.by_id(*id, self.session.id);
            let object = object.filter(|object| object.definition.is_indexed_view());
            let object = object.ok_or_else(|| Error::definition_changed(&table.full_name))?;
            if self.is_concerned(database, &object, definition, actions)? {
                views.push(self.kept_view(database, &object, table, &columns)?);
            }
        }
        if views.is_empty() {
            return Ok(columns);
        }
        let mut columns = Arc::unwrap_or_clone(columns);
        columns.views = views;
        columns.needs_settings = true;
        Ok(Arc::new(columns))
    }

    /// Whether an action may change rows of a view, or move rows that others read for it.
    ///
    /// An update of columns that the view does not name leaves its rows as they are. But where it reads several tables, another session may be
    /// scanning this one for a change of another table, and would miss a row that moves in an index meanwhile, or meet it twice. So an update that
    /// moves a row in an index looks at the other tables, too, and waits there for that session, as with any change.
    fn is_concerned(
        &self,
        database: &Arc<Database>,
        view: &Arc<CatalogObject>,
        table: &TableDefinition,
        actions: &[(RowAction, &[usize])],
    ) -> Result<bool> {
        let module = self.session.module(database, view)?;
        // An update changes these columns without setting them; what computes them is not said in the view, and `$ROWGUID` names no column.
        let mut made = table.columns.iter().filter(|column| is_made(column));
        let reads_made = made.any(|column| has_name(&module.text, &column.name)) || module.text.contains('$');
        let names = |place: &usize| {
            let column = table.columns.get(*place);
            column.is_some_and(|column| has_name(&module.text, &column.name))
        };
        let is_joined = reads_several_tables(&module);
        let concerns = |place: &usize| names(place) || is_joined && moves_rows(table, *place);
        Ok(actions.iter().any(|(action, set)| match action {
            RowAction::Insert | RowAction::Delete => true,
            RowAction::Update => reads_made || is_joined && moves_always(table) || set.iter().any(concerns),
        }))
    }

    fn kept_view(
        &self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        table: &BoundTable,
        columns: &TargetColumns,
    ) -> Result<KeptView> {
        crate::stack::require()?;
        let rows = self.bound_table(database, object, Reading::default())?;
        let shown = columns.columns.iter().map(|column| {
            let types = (column.sql_type, column.collation);
            VariableColumn::of_target(&column.name, types, column.nullable, column.is_hidden)
        });
        let changed = ChangedTable {
            database_id: database.id,
            object_id: table.table.definition().object_id,
            shape: Arc::new(TableVariableShape::of_target(shown)),
        };
        let shape = changed.shape.clone();
        let (parts, columns) = self.view_parts(database, object, false, |query, binder| {
            binder.changed_table = Some(changed);
            binder.nested_query(query)
        })?;
        Ok(KeptView {
            rows,
            parts: Arc::new(parts),
            changed: shape,
            columns,
        })
    }

    /// Binds the query of a view before its rows are grouped, if wanted with the keys of its GROUP BY behind its columns; answers what each
    /// column is.
    pub(super) fn view_parts<T>(
        &self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        with_keys: bool,
        bind: impl for<'q> FnOnce(&'q Query, &mut Binder<'q>) -> Result<T>,
    ) -> Result<(T, Vec<KeptColumn>)> {
        let module = self.session.module(database, object)?;
        let ModuleBody::View(view) = &module.body else {
            return Err(messages::invalid_object_name(&module.name));
        };
        let (query, columns) = ungrouped(view, with_keys)?;
        let bound = self.within_indexed_view(database, &module, &query, bind)?;
        Ok((bound, columns))
    }

    /// Binds a query as that of an indexed view: under the view's settings, with other tables read by locks.
    pub(super) fn within_indexed_view<T>(
        &self,
        database: &Arc<Database>,
        module: &Module,
        query: &Query,
        bind: impl for<'q> FnOnce(&'q Query, &mut Binder<'q>) -> Result<T>,
    ) -> Result<T> {
        let (scope, session) = (VariableScope::default(), self.session);
        let schema = module.name.split('.').next();
        session.within_database(database, || {
            session.within_schema(schema, || {
                session.under_settings(module.settings, || {
                    let mut binder = Binder::new(session, &scope);
                    binder.collation = database.collation();
                    binder.inherited_hints = vec![TableHint {
                        name: "READCOMMITTEDLOCK".to_owned(),
                        arguments: Vec::new(),
                    }];
                    bind(query, &mut binder)
                })
            })
        })
    }
}

/// Whether a view reads more than one table.
fn reads_several_tables(module: &Module) -> bool {
    let ModuleBody::View(view) = &module.body else {
        return false;
    };
    match &view.query.body {
        QueryBody::Select(select) => !matches!(select.from.as_slice(), [TableSource::Table(_)]),
        QueryBody::Ordered(_) | QueryBody::SetOperations { .. } => true,
    }
}

/// Whether a row may have another place in an index of its table when a column gets another value.
fn moves_rows(table: &TableDefinition, column: usize) -> bool {
    table.indexes.iter().any(|index| index.depends_on(column))
}

/// Whether a column gets its value from the server: it is computed, a row version, or of a period.
fn is_made(column: &ColumnDefinition) -> bool {
    column.computed.is_some() || column.generated.is_some() || column.sql_type == SqlType::RowVersion
}

/// Whether it may whatever an update sets: by what is computed or made with each change.
fn moves_always(table: &TableDefinition) -> bool {
    let mut columns = table.columns.iter().enumerate();
    columns.any(|(place, column)| is_made(column) && moves_rows(table, place))
}

/// What a call in a select list counts or sums, if it is one that an indexed view keeps.
pub(super) fn kept_aggregate(call: &FunctionCall) -> Option<KeptColumn> {
    let is_plain = call.over.is_none() && !call.distinct && call.name.parts.len() == 1;
    match call.name.object().to_ascii_lowercase().as_str() {
        "count_big" if is_plain && call.star => Some(KeptColumn::Count),
        "sum" if is_plain && call.arguments.len() == 1 => Some(KeptColumn::Sum),
        _ => None,
    }
}

/// The query of a view before its rows are grouped: 1 in place of `COUNT_BIG(*)`, what is summed in place of a sum.
fn ungrouped(view: &CreateView, with_keys: bool) -> Result<(Query, Vec<KeptColumn>)> {
    let mut query = view.query.clone();
    let QueryBody::Select(select) = &mut query.body else {
        return Err(Error::assertion("an indexed view with a set operator"));
    };
    let group_by = std::mem::take(&mut select.group_by);
    let mut columns = Vec::with_capacity(select.items.len());
    for item in &mut select.items {
        let SelectItem::Expression { expression, .. } = item else {
            return Err(Error::assertion("an indexed view with *"));
        };
        columns.push(match group_by.is_empty() {
            true => KeptColumn::Value,
            false => part(expression),
        });
    }
    for item in group_by.into_iter().filter(|_| with_keys) {
        if let GroupItem::Expression(expression) = item {
            select.items.push(SelectItem::Expression {
                expression,
                alias: None,
            });
        }
    }
    Ok((query, columns))
}

/// Puts what is counted or summed in the place of an aggregate.
fn part(expression: &mut Expression) -> KeptColumn {
    let ExpressionKind::Function(call) = &mut expression.kind else {
        return KeptColumn::Value;
    };
    let Some(column) = kept_aggregate(call) else {
        return KeptColumn::Value;
    };
    let summed = call.arguments.pop().filter(|_| column == KeptColumn::Sum);
    let line = expression.line;
    let one = || Expression::new(line, ExpressionKind::Literal(Literal::Integer(1)));
    *expression = summed.unwrap_or_else(one);
    column
}
