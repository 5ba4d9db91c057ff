//! How the statements of a module use the objects that they name, and which columns they read and write: of the tree, where names are
//! resolved from the innermost query outwards, as binding resolves them.
//!
//! A column without a qualifier is that of the first source around which has one of its name. Common table expressions, derived tables, table
//! variables and temporary tables have no rows of their own: what they are made of has. Where statements are nested deeper than the thread's
//! stack has room for, the uses say that they are not whole.

use std::collections::{BTreeMap, HashMap};

use engine::catalog::ModuleDefinition;

use super::references::{NamedReference, ReferenceUse};
use crate::ast::{
    CommonTableExpression, CreateFunction, DeclarationKind, Delete, ExecuteModule, Expression, ExpressionKind,
    FunctionBody, FunctionCall, GroupItem, Insert, InsertSource, Merge, MergeAction, Mutator, Name, NestedChange,
    OrderItem, Output, Over, Query, QueryBody, Select, SelectItem, Statement, StatementKind, TableReference,
    TableSource, Target, Top, Update, UpdateAssignment,
};
use crate::scalar::moment::DATE_PART_FUNCTIONS;

/// Whether something is read, and whether it is changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) is_selected: bool,
    pub(crate) is_updated: bool,
}

/// What statements do with an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObjectUse {
    /// Its name as it is written first.
    pub(crate) parts: Vec<String>,
    pub(crate) used_as: ReferenceUse,
    pub(crate) usage: Usage,
    /// `SELECT *`
    pub(crate) is_select_all: bool,
    /// INSERT without a list of columns.
    pub(crate) is_insert_all: bool,
    /// Columns by their place in the object.
    pub(crate) columns: BTreeMap<usize, Usage>,
    /// A column of it is named that it does not have.
    pub(crate) lacks_column: bool,
}

/// What statements use.
#[derive(Debug)]
pub(crate) struct Uses {
    /// Each object once, in the order in which they are named.
    pub(crate) objects: Vec<ObjectUse>,
    /// Everything is there: the stack had room for all levels.
    pub(crate) is_whole: bool,
    /// A column is named that none of the objects around has.
    pub(crate) lacks_column: bool,
}

impl ObjectUse {
    /// An object of which no more is known than its name.
    pub(crate) fn named(reference: NamedReference) -> ObjectUse {
        ObjectUse {
            parts: reference.parts,
            used_as: reference.used_as,
            usage: Usage::default(),
            is_select_all: false,
            is_insert_all: false,
            columns: BTreeMap::new(),
            lacks_column: false,
        }
    }

    /// The name and how it is used.
    pub(crate) fn reference(&self) -> NamedReference {
        NamedReference {
            parts: self.parts.clone(),
            used_as: self.used_as,
        }
    }
}

/// The names of the columns of an object, in lower case; `None` for one that is not there.
type ColumnsOf<'c> = &'c dyn Fn(&Name) -> Option<Vec<String>>;

/// What a module uses.
///
/// # Errors
/// Where its text does not parse: whether it never does, rather than here, with what stack and memory there are.
pub(crate) fn uses_of_module(module: &ModuleDefinition, columns_of: ColumnsOf<'_>) -> std::result::Result<Uses, bool> {
    match crate::parser::parse_batch_with(&module.text, module.uses_quoted_identifier) {
        Ok(statements) => Ok(uses_in(&statements, columns_of)),
        Err(error) => Err(!NUMBERS_OF_ROOM.contains(&error.number)),
    }
}

/// Too deeply nested, and too little memory.
const NUMBERS_OF_ROOM: [i32; 3] = [191, 701, 8631];

/// What statements use, each name once, in the order in which they name it.
fn uses_in(statements: &[Statement], columns_of: ColumnsOf<'_>) -> Uses {
    let mut walk = Walk {
        columns_of,
        uses: Vec::new(),
        places: HashMap::new(),
        scopes: Vec::new(),
        common: Vec::new(),
        is_whole: true,
        lacks_column: false,
    };
    statements.iter().for_each(|statement| walk.statement(statement));
    for own in &mut walk.uses {
        own.usage.is_selected |= own.columns.values().any(|column| column.is_selected);
    }
    Uses {
        objects: walk.uses,
        is_whole: walk.is_whole,
        lacks_column: walk.lacks_column,
    }
}

/// A source that a query can take columns of.
struct Source {
    /// What it is called, in lower case.
    name: String,
    /// Its place among the uses; none for what is not an object.
    place: Option<usize>,
    /// Its columns, where it is an object that is there.
    columns: Option<Vec<String>>,
}

struct Walk<'c> {
    columns_of: ColumnsOf<'c>,
    uses: Vec<ObjectUse>,
    /// The places of the uses, by the parts of the names in lower case.
    places: HashMap<Vec<String>, usize>,
    /// The sources of the queries around, the innermost last.
    scopes: Vec<Vec<Source>>,
    /// The names of common table expressions around, in lower case.
    common: Vec<String>,
    /// The stack had room for every level so far.
    is_whole: bool,
    /// A column was named that no source around has.
    lacks_column: bool,
}

impl Walk<'_> {
    /// Whether there is stack to go one level deeper.
    fn has_room(&mut self) -> bool {
        let has_room = crate::stack::has_room();
        self.is_whole &= has_room;
        has_room
    }

    fn statement(&mut self, statement: &Statement) {
        if !self.has_room() {
            return;
        }
        match &statement.kind {
            StatementKind::Select(query) => self.query(query),
            StatementKind::Insert(insert) => self.insert(insert),
            StatementKind::Update(update) => self.update(update),
            StatementKind::Delete(delete) => self.delete(delete),
            StatementKind::Merge(merge) => self.merge(merge),
            StatementKind::WriteText(write) => self.update(&write.update),
            StatementKind::ReadText(read) => self.query(&read.query),
            StatementKind::TruncateTable(truncate) => {
                self.changed(&truncate.name);
            }
            StatementKind::BulkInsert(bulk) => {
                self.changed(&bulk.table);
            }
            StatementKind::CreateView(view) => self.query(&view.query),
            StatementKind::CreateProcedure(procedure) => self.statements(&procedure.body),
            StatementKind::CreateTrigger(trigger) => self.statements(&trigger.body),
            StatementKind::CreateDatabaseTrigger(trigger) => self.statements(&trigger.body),
            StatementKind::CreateFunction(function) => self.function(function),
            StatementKind::DeclareCursor(cursor) | StatementKind::SetCursorVariable(cursor) => {
                self.query(&cursor.query)
            }
            StatementKind::Declare(declarations) => {
                for declaration in declarations {
                    if let DeclarationKind::Scalar { initial, .. } = &declaration.kind {
                        self.expressions(initial);
                    }
                }
            }
            StatementKind::SetVariable(assignment) => self.expression(&assignment.value),
            StatementKind::If(branch) => self.expression(&branch.condition),
            StatementKind::While(repeated) => self.expression(&repeated.condition),
            StatementKind::Return(value) => self.expressions(value),
            StatementKind::Print(value) => self.expression(value),
            StatementKind::RaiseError(raised) => self.expressions(&raised.arguments),
            StatementKind::Execute(execute) => {
                self.execute(
                    &execute.module,
                    execute.arguments.iter().map(|argument| &argument.value),
                );
            }
            // Nothing else that a module may have reads or changes the rows of an object by its name.
            _ => {}
        }
        statement.kind.facts().inside().for_each(|inner| self.statement(inner));
    }

    fn statements(&mut self, statements: &[Statement]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn function(&mut self, function: &CreateFunction) {
        match &function.body {
            FunctionBody::Scalar { statements, .. } | FunctionBody::Table { statements, .. } => {
                self.statements(statements);
            }
            FunctionBody::InlineTable(query) => self.query(query),
        }
    }

    fn execute<'e>(&mut self, module: &ExecuteModule, arguments: impl Iterator<Item = &'e Expression>) {
        match module {
            ExecuteModule::Procedure(name) => {
                self.object(name, ReferenceUse::Execute);
            }
            ExecuteModule::Text(text) => self.expression(text),
            ExecuteModule::Variable(_) => {}
        }
        arguments.for_each(|argument| self.expression(argument));
    }

    /// The place of an object among the uses.
    fn object(&mut self, name: &Name, used_as: ReferenceUse) -> usize {
        let parts: Vec<String> = name.parts.iter().map(|part| part.text.clone()).collect();
        let key = parts.iter().map(|part| part.to_lowercase()).collect();
        let uses = &mut self.uses;
        *self.places.entry(key).or_insert_with(|| {
            uses.push(ObjectUse::named(NamedReference { parts, used_as }));
            uses.len() - 1
        })
    }

    /// An object whose rows are changed.
    fn changed(&mut self, name: &Name) -> Option<usize> {
        if self.is_own(name) {
            return None;
        }
        let place = self.object(name, ReferenceUse::Rows);
        self.uses[place].usage.is_updated = true;
        Some(place)
    }

    /// Whether a name is that of no object of the catalog.
    fn is_own(&self, name: &Name) -> bool {
        let own = name.object().to_lowercase();
        let is_common = || self.common.contains(&own) || matches!(own.as_str(), "inserted" | "deleted");
        own.starts_with('#') || name.parts.len() == 1 && is_common()
    }

    fn with_common(&mut self, expressions: &[CommonTableExpression], work: impl FnOnce(&mut Self)) {
        let before = self.common.len();
        for expression in expressions {
            // A recursive one names itself.
            self.common.push(expression.name.text.to_lowercase());
            self.query(&expression.query);
        }
        work(self);
        self.common.truncate(before);
    }

    fn within(&mut self, work: impl FnOnce(&mut Self)) {
        self.scopes.push(Vec::new());
        work(self);
        self.scopes.pop();
    }

    fn query(&mut self, query: &Query) {
        if !self.has_room() {
            return;
        }
        self.with_common(&query.common_table_expressions, |walk| {
            walk.body(&query.body, &query.order_by);
            walk.expressions(query.offset.iter().chain(&query.fetch));
        });
    }

    fn body(&mut self, body: &QueryBody, order: &[OrderItem]) {
        match body {
            QueryBody::Select(select) => self.select(select, order),
            QueryBody::Ordered(query) => self.query(query),
            QueryBody::SetOperations { first, others } => {
                self.body(first, &[]);
                others.iter().for_each(|(_, other)| self.body(other, &[]));
            }
        }
    }

    fn select(&mut self, select: &Select, order: &[OrderItem]) {
        self.within(|walk| {
            select.from.iter().for_each(|source| walk.source(source));
            walk.items(&select.items);
            walk.top(select.top.as_ref());
            walk.expressions(select.selection.iter().chain(&select.having));
            select.group_by.iter().for_each(|item| walk.group(item));
            select.windows.iter().for_each(|window| walk.over(&window.window));
            walk.order(&select.items, order);
        });
    }

    /// ORDER BY of a query, which may name columns of its result.
    fn order(&mut self, items: &[SelectItem], order: &[OrderItem]) {
        for key in order {
            let is_alias = match &key.expression.kind {
                ExpressionKind::Column(name) if name.parts.len() == 1 => items.iter().any(|item| match item {
                    SelectItem::Expression { alias: Some(alias), .. } => {
                        alias.text.to_lowercase() == name.object().to_lowercase()
                    }
                    _ => false,
                }),
                _ => false,
            };
            if !is_alias {
                self.expression(&key.expression);
            }
        }
    }

    fn items(&mut self, items: &[SelectItem]) {
        for item in items {
            match item {
                SelectItem::Wildcard { qualifier, .. } => self.wildcard(qualifier.as_ref()),
                SelectItem::Expression { expression, .. } => self.expression(expression),
                SelectItem::Assignment { value, .. } => self.expression(value),
            }
        }
    }

    /// `*` or `t.*`: all columns of the sources, or of one.
    fn wildcard(&mut self, qualifier: Option<&Name>) {
        let wanted = qualifier.map(|name| name.object().to_lowercase());
        let scope = self.scopes.last().map(Vec::as_slice).unwrap_or_default();
        for source in scope {
            let Some(place) = source.place else { continue };
            if wanted.as_ref().is_some_and(|wanted| *wanted != source.name) {
                continue;
            }
            self.uses[place].is_select_all = true;
            let count = source.columns.as_ref().map_or(0, Vec::len);
            for ordinal in 0..count {
                self.uses[place].columns.entry(ordinal).or_default().is_selected = true;
            }
        }
    }

    fn top(&mut self, top: Option<&Top>) {
        self.expressions(top.map(|top| &top.count));
    }

    fn keys(&mut self, keys: &[OrderItem]) {
        self.expressions(keys.iter().map(|key| &key.expression));
    }

    fn over(&mut self, over: &Over) {
        self.expressions(&over.partition_by);
        self.keys(&over.order_by);
    }

    fn group(&mut self, item: &GroupItem) {
        match item {
            GroupItem::Expression(key) => self.expression(key),
            GroupItem::Composite(keys) => self.expressions(keys),
            GroupItem::Rollup(items) | GroupItem::Cube(items) | GroupItem::GroupingSets(items) => {
                items.iter().for_each(|item| self.group(item));
            }
            GroupItem::Empty => {}
        }
    }

    /// Enters a source into the innermost scope.
    fn enter(&mut self, name: &str, place: Option<usize>, columns: Option<Vec<String>>) {
        let name = name.to_lowercase();
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(Source { name, place, columns });
        }
    }

    fn table(&mut self, table: &TableReference) {
        let shown = table
            .alias
            .as_ref()
            .map_or(table.name.object(), |alias| alias.text.as_str());
        if self.is_own(&table.name) {
            return self.enter(shown, None, None);
        }
        let place = self.object(&table.name, ReferenceUse::Rows);
        self.uses[place].usage.is_selected = true;
        self.enter(shown, Some(place), (self.columns_of)(&table.name));
    }

    fn source(&mut self, source: &TableSource) {
        if !self.has_room() {
            return;
        }
        match source {
            TableSource::Table(table) => self.table(table),
            TableSource::Variable { name, alias, .. } => {
                self.enter(alias.as_ref().map_or(name, |alias| &alias.text), None, None);
            }
            TableSource::Function { call, alias, .. } => {
                let called = self.call(call);
                if let Some(place) = called {
                    self.uses[place].usage.is_selected = true;
                }
                let shown = alias.as_ref().map_or(call.name.object(), |alias| alias.text.as_str());
                self.enter(shown, called, called.and_then(|_| (self.columns_of)(&call.name)));
            }
            TableSource::Derived { query, alias, .. } => {
                self.query(query);
                self.enter(&alias.text, None, None);
            }
            TableSource::Values { rows, alias, .. } => {
                self.expressions(rows.iter().flatten());
                self.enter(&alias.text, None, None);
            }
            TableSource::Change { change, alias, .. } => {
                match change {
                    NestedChange::Insert(insert) => self.insert(insert),
                    NestedChange::Update(update) => self.update(update),
                    NestedChange::Delete(delete) => self.delete(delete),
                    NestedChange::Merge(merge) => self.merge(merge),
                }
                self.enter(&alias.text, None, None);
            }
            TableSource::Join(join) => {
                self.source(&join.left);
                self.source(&join.right);
                self.expressions(&join.on);
            }
            TableSource::Pivot(pivot) => {
                self.source(&pivot.source);
                self.call(&pivot.aggregate);
                self.column(&pivot.column);
                self.enter(&pivot.alias.text, None, None);
            }
            TableSource::Unpivot(unpivot) => {
                self.source(&unpivot.source);
                unpivot.columns.iter().for_each(|column| self.column(column));
                self.enter(&unpivot.alias.text, None, None);
            }
            TableSource::OpenXml(open) => {
                if let Some(like) = &open.like {
                    self.object(like, ReferenceUse::Rows);
                }
                let shown = open.alias.as_ref().map_or("openxml", |alias| alias.text.as_str());
                self.enter(shown, None, None);
            }
            TableSource::OpenRowset(open) => {
                let shown = open.alias.as_ref().map_or("openrowset", |alias| alias.text.as_str());
                self.enter(shown, None, None);
            }
        }
    }

    /// The target of a change: an object, or a source of FROM by its alias.
    fn target(&mut self, target: &Target) -> Option<usize> {
        let Target::Table(name) = target else { return None };
        let own = name.object().to_lowercase();
        let scope = self.scopes.last().map(Vec::as_slice).unwrap_or_default();
        let named = scope.iter().find(|source| source.name == own);
        if let Some(source) = named {
            let place = source.place?;
            self.uses[place].usage.is_updated = true;
            return Some(place);
        }
        let place = self.changed(name);
        self.enter(name.object(), place, (self.columns_of)(name));
        place
    }

    fn insert(&mut self, insert: &Insert) {
        self.with_common(&insert.common_table_expressions, |walk| {
            match &insert.source {
                InsertSource::Values(rows) => walk.expressions(rows.iter().flatten()),
                InsertSource::Query(query) => walk.query(query),
                InsertSource::Execute(execute) => {
                    let arguments = execute.arguments.iter().map(|argument| &argument.value);
                    walk.execute(&execute.module, arguments);
                }
                InsertSource::DefaultValues => {}
            }
            walk.within(|walk| {
                walk.top(insert.top.as_ref());
                let Some(place) = walk.target(&insert.target) else {
                    return walk.output(insert.output.as_ref());
                };
                let columns = insert.columns.iter().map(|column| column.text.as_str());
                walk.write(place, columns);
                let is_all = insert.columns.is_empty() && !matches!(insert.source, InsertSource::DefaultValues);
                walk.uses[place].is_insert_all |= is_all;
                walk.output(insert.output.as_ref());
            });
        });
    }

    fn update(&mut self, update: &Update) {
        self.with_common(&update.common_table_expressions, |walk| {
            walk.within(|walk| {
                update.from.iter().for_each(|source| walk.source(source));
                let place = walk.target(&update.target);
                walk.assignments(&update.assignments, place);
                walk.top(update.top.as_ref());
                walk.expressions(&update.selection);
                walk.output(update.output.as_ref());
            });
        });
    }

    fn delete(&mut self, delete: &Delete) {
        self.with_common(&delete.common_table_expressions, |walk| {
            walk.within(|walk| {
                delete.from.iter().for_each(|source| walk.source(source));
                walk.target(&delete.target);
                walk.top(delete.top.as_ref());
                walk.expressions(&delete.selection);
                walk.output(delete.output.as_ref());
            });
        });
    }

    fn merge(&mut self, merge: &Merge) {
        self.with_common(&merge.common_table_expressions, |walk| {
            walk.within(|walk| {
                merge.from.iter().for_each(|source| walk.source(source));
                let place = walk.target(&merge.target);
                for clause in &merge.clauses {
                    walk.expressions(&clause.condition);
                    match &clause.action {
                        MergeAction::Update(assignments) => walk.assignments(assignments, place),
                        MergeAction::Insert { columns, values } => {
                            walk.expressions(values.iter().flatten());
                            if let Some(place) = place {
                                walk.uses[place].is_insert_all |= columns.is_empty() && values.is_some();
                                walk.write(place, columns.iter().map(|column| column.text.as_str()));
                            }
                        }
                        MergeAction::Delete => {}
                    }
                }
                walk.top(merge.top.as_ref());
                walk.output(merge.output.as_ref());
            });
        });
    }

    fn output(&mut self, output: Option<&Output>) {
        let Some(output) = output else { return };
        self.items(&output.items);
        self.items(&output.shown);
        if let Some(Target::Table(into)) = &output.into
            && let Some(place) = self.changed(into)
        {
            self.write(place, output.columns.iter().map(|column| column.text.as_str()));
        }
    }

    fn assignments(&mut self, assignments: &[UpdateAssignment], target: Option<usize>) {
        for assignment in assignments {
            if let (Some(column), Some(place)) = (&assignment.column, target) {
                self.write(place, std::iter::once(column.object()));
            }
            self.expression(&assignment.value);
            if let Some(Mutator::Write { offset, length } | Mutator::UpdateText { offset, length }) =
                assignment.mutator.as_deref()
            {
                self.expressions([offset, length]);
            }
        }
    }

    /// Notes that columns of an object are written.
    fn write<'n>(&mut self, place: usize, names: impl Iterator<Item = &'n str>) {
        let parts = self.uses[place].parts.iter();
        let name = Name {
            parts: parts.map(crate::ast::Identifier::new).collect(),
        };
        let Some(columns) = (self.columns_of)(&name) else {
            return;
        };
        for name in names {
            let name = name.to_lowercase();
            match columns.iter().position(|column| *column == name) {
                Some(ordinal) => self.uses[place].columns.entry(ordinal).or_default().is_updated = true,
                None => {
                    self.lacks_column = true;
                    self.uses[place].lacks_column = true;
                }
            }
        }
    }

    /// A column that is read.
    fn column(&mut self, name: &Name) {
        let wanted = name.object().to_lowercase();
        let qualifier = name.schema().map(str::to_lowercase);
        for scope in self.scopes.iter().rev() {
            let may_be_its = |source: &&Source| match &qualifier {
                Some(qualifier) => source.name == *qualifier,
                None => source.columns.as_ref().is_some_and(|columns| columns.contains(&wanted)),
            };
            if let Some(source) = scope.iter().find(may_be_its) {
                let (Some(place), Some(columns)) = (source.place, &source.columns) else {
                    return;
                };
                match columns.iter().position(|column| *column == wanted) {
                    Some(ordinal) => self.uses[place].columns.entry(ordinal).or_default().is_selected = true,
                    None => {
                        self.lacks_column = true;
                        self.uses[place].lacks_column = true;
                    }
                }
                return;
            }
            // It may be one of a source whose columns are not known here.
            if qualifier.is_none() && scope.iter().any(|source| source.columns.is_none()) {
                return;
            }
        }
        let has_sources = self.scopes.iter().any(|scope| !scope.is_empty());
        self.lacks_column |= qualifier.is_none() && has_sources;
    }

    fn expressions<'e>(&mut self, expressions: impl IntoIterator<Item = &'e Expression>) {
        expressions
            .into_iter()
            .for_each(|expression| self.expression(expression));
    }

    /// A call, with what it calls if that has a schema.
    fn call(&mut self, call: &FunctionCall) -> Option<usize> {
        let is_user = call.name.parts.len() > 1 && !call.is_method && !call.is_static && !call.name.is_of_partitions();
        let called = is_user.then(|| self.object(&call.name, ReferenceUse::Call));
        let name = call.name.object().to_ascii_lowercase();
        let has_part = !is_user && DATE_PART_FUNCTIONS.contains(&name.as_str());
        // The kind behind the text of ISJSON is a word.
        let is_kind = |place: usize| !is_user && name == "isjson" && place == 1;
        let arguments = call.arguments.iter().enumerate().skip(usize::from(has_part));
        self.expressions(
            arguments
                .filter(|(place, _)| !is_kind(*place))
                .map(|(_, argument)| argument),
        );
        self.keys(&call.within_group);
        if let Some(over) = &call.over {
            self.over(over);
        }
        called
    }

    fn expression(&mut self, expression: &Expression) {
        if !self.has_room() {
            return;
        }
        match &expression.kind {
            ExpressionKind::Literal(_)
            | ExpressionKind::Variable(_)
            | ExpressionKind::GlobalVariable(_)
            | ExpressionKind::Identity(_)
            | ExpressionKind::PseudoColumn(_) => {}
            ExpressionKind::Column(name) => self.column(name),
            ExpressionKind::Unary { operand, .. }
            | ExpressionKind::Collate { operand, .. }
            | ExpressionKind::Not(operand)
            | ExpressionKind::IsNull { operand, .. } => self.expression(operand),
            ExpressionKind::Binary { left, right, .. }
            | ExpressionKind::Comparison { left, right, .. }
            | ExpressionKind::IsDistinct { left, right, .. }
            | ExpressionKind::AtTimeZone {
                operand: left,
                zone: right,
            } => self.expressions([&**left, &**right]),
            ExpressionKind::Case(case) => {
                self.expressions(case.operand.iter().chain(&case.otherwise));
                self.expressions(case.branches.iter().flat_map(|branch| [&branch.when, &branch.then]));
            }
            ExpressionKind::Cast(cast) => self.expression(&cast.operand),
            ExpressionKind::Convert(convert) => {
                self.expressions(std::iter::once(&convert.operand).chain(&convert.style));
            }
            ExpressionKind::Parse(parse) => self.expressions(std::iter::once(&parse.operand).chain(&parse.culture)),
            ExpressionKind::Function(call) => {
                self.call(call);
            }
            ExpressionKind::NextValueFor(next) => {
                self.object(&next.sequence, ReferenceUse::Rows);
            }
            ExpressionKind::And(parts) | ExpressionKind::Or(parts) => self.expressions(parts),
            ExpressionKind::Between(between) => {
                self.expressions([&between.operand, &between.low, &between.high]);
            }
            ExpressionKind::InList { operand, list, .. } => {
                self.expressions(std::iter::once(&**operand).chain(list));
            }
            ExpressionKind::Like(like) => {
                self.expressions([&like.operand, &like.pattern].into_iter().chain(&like.escape));
            }
            ExpressionKind::Subquery(query) | ExpressionKind::Exists(query) => self.query(query),
            ExpressionKind::InQuery { operand, query, .. }
            | ExpressionKind::Quantified {
                left: operand, query, ..
            } => {
                self.expression(operand);
                self.query(query);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// What is nested deeper than the stack allows is missing, and the uses say so: they are asked for deeper than the text was parsed.
    #[test]
    fn uses_that_the_stack_cut_short_say_so() {
        let levels = 150;
        let mut query = "select x from t0".to_owned();
        for level in 1..=levels {
            query = format!("select x from t{level} where x in ({query})");
        }
        let parsed = std::thread::Builder::new().stack_size(64 << 20).spawn(move || {
            crate::stack::begin_thread(64 << 20);
            crate::parser::parse_batch_with(&query, true).unwrap()
        });
        let statements = parsed.unwrap().join().unwrap();
        let used = |bytes: usize| {
            std::thread::scope(|threads| {
                let thread = std::thread::Builder::new().stack_size(64 << 20);
                let statements = &statements;
                let walk = thread.spawn_scoped(threads, move || {
                    crate::stack::begin_thread(bytes);
                    let used = uses_in(statements, &|_| None);
                    (used.objects.len(), used.is_whole)
                });
                walk.unwrap().join().unwrap()
            })
        };
        assert_eq!(used(64 << 20), (levels + 1, true));
        let (found, is_whole) = used(300 << 10);
        assert!(found < levels && !is_whole, "{found}");
    }
}
