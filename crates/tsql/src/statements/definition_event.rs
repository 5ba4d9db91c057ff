//! The document of EVENTDATA(): the change of a definition, as DDL triggers of the database see it.
//!
//! ```text
//! <EVENT_INSTANCE>
//!   <EventType> <PostTime> <SPID> <ServerName> <LoginName> <UserName> <DatabaseName>          of every event
//!   <SchemaName> <ObjectName> <ObjectType>                                                    what was made, changed, dropped
//!   <OwnerName> | <TargetObjectName> <TargetObjectType> | <NewObjectName> | <Property...>     of some events
//!   <Parameters><Param>...    of procedures          <AlterTableActionList>...    of ALTER TABLE
//!   <TSQLCommand><SetOptions .../><CommandText>
//! ```
//! (sql-docs, "EVENTDATA", "Use the EVENTDATA function"; schemas.microsoft.com/sqlserver/2006/11/eventdata has the elements of each event,
//! and published documents of SQL Server show their order.)
//!
//! Temporary objects, TRUNCATE TABLE, ENABLE and DISABLE TRIGGER are no events; SELECT INTO is CREATE_TABLE; a statement that names several
//! objects is one event for each.

use std::borrow::Cow;

use engine::catalog::{CatalogObject, ModuleKind, ObjectDefinition, TableDefinition};
use engine::database::Database;
use engine::types::{Length, SqlType, Value};

use super::securable::FoundSecurable;
use super::security_event::{
    class_to_own, elements_of_permission, elements_of_principal, event_of_permission, event_of_principal,
};
use crate::ast::{
    AlterTableAction, DefinitionKind, Drop, Identifier, Name, ObjectKind, Permission, PrincipalStatement, StatementKind,
};
use crate::scalar::convert::convert;
use crate::security::{Class, Entries, SchemaOwners, principal_numbered};
use crate::state::SessionState;
use crate::views::{constraints_of, type_code};

/// What an element of the document has in it.
pub(super) enum Content {
    Text(String),
    /// Elements of one name.
    List(&'static str, Vec<String>),
}

/// The elements of an event between those of every event and its command, in their order.
pub(super) type Elements = Vec<(&'static str, Content)>;

/// What a statement acts on, as it is written.
pub(super) struct Subject<'s> {
    /// Its event, in upper case.
    pub(super) event: String,
    object_type: &'static str,
    named: Named<'s>,
}

enum Named<'s> {
    /// An object of a schema.
    Object(&'s Name),
    /// An index or statistics of a table or view; `None` for all of them.
    Part(Option<&'s Identifier>, Cow<'s, Name>),
    Schema(&'s Identifier),
    /// A trigger with its table or view.
    Trigger(&'s Name, &'s Name),
    /// A trigger whose table or view is not written.
    DroppedTrigger(&'s Name),
    DatabaseTrigger(&'s Name),
    Principal(&'s PrincipalStatement),
    Permission(&'s Permission),
}

/// The word of an event for what is done by CREATE, ALTER or both.
fn verb(definition: DefinitionKind, is_there: impl Fn() -> bool) -> &'static str {
    match definition {
        DefinitionKind::Alter => "ALTER",
        DefinitionKind::CreateOrAlter if is_there() => "ALTER",
        DefinitionKind::Create | DefinitionKind::CreateOrAlter => "CREATE",
    }
}

impl<'s> Subject<'s> {
    fn new(verb: &str, object_type: &'static str, named: Named<'s>) -> Subject<'s> {
        Subject {
            event: format!("{verb}_{}", object_type.replace(' ', "_")),
            object_type,
            named,
        }
    }

    /// What a new table is, which SELECT INTO makes as CREATE TABLE does.
    pub(super) fn new_table(name: &'s Name) -> Subject<'s> {
        Subject::new("CREATE", "TABLE", Named::Object(name))
    }

    /// The object that a statement acts on; `place` selects one if the statement names several. `None` for a statement that raises no
    /// event.
    pub(super) fn of(kind: &'s StatementKind, place: usize, session: &SessionState) -> Option<Subject<'s>> {
        use StatementKind as Kind;
        let object = |verb, object_type, name| Some(Subject::new(verb, object_type, Named::Object(name)));
        let module = |definition, object_type, name: &'s Name| {
            let is_there = || session.find_object(name).is_ok_and(|found| found.is_some());
            object(verb(definition, is_there), object_type, name)
        };
        let part =
            |verb, object_type, name, of| Some(Subject::new(verb, object_type, Named::Part(name, Cow::Borrowed(of))));
        match kind {
            Kind::CreateTable(create) => Some(Subject::new_table(&create.name)),
            Kind::AlterTable(alter) => object("ALTER", "TABLE", &alter.name),
            Kind::SwitchTriggers(switch) if switch.of_table => object("ALTER", "TABLE", switch.parent.as_ref()?),
            Kind::CreateIndex(create) => part("CREATE", "INDEX", Some(&create.name), &create.table),
            Kind::AlterIndex(alter) => part("ALTER", "INDEX", alter.name.as_ref(), &alter.table),
            Kind::DropIndex(drop) => {
                let (index, table) = drop.indexes.get(place)?;
                part("DROP", "INDEX", Some(index), table)
            }
            Kind::CreateStatistics(create) => part("CREATE", "STATISTICS", Some(&create.name), &create.table),
            Kind::DropStatistics(names) => Subject::dropped_statistics(names.get(place)?),
            Kind::UpdateStatistics(update) => part("UPDATE", "STATISTICS", update.names.first(), &update.table),
            Kind::CreateSchema(schema) => Some(Subject::new("CREATE", "SCHEMA", Named::Schema(&schema.name))),
            Kind::AlterSchema(alter) => Some(Subject::new("ALTER", "SCHEMA", Named::Schema(&alter.schema))),
            Kind::CreateType(create) => object("CREATE", "TYPE", &create.name),
            Kind::CreateSynonym(synonym) => object("CREATE", "SYNONYM", &synonym.name),
            Kind::CreateStandalone(created) => object(
                "CREATE",
                ["DEFAULT", "RULE"][usize::from(created.is_rule)],
                &created.name,
            ),
            Kind::CreateSequence(sequence) => module(sequence.definition, "SEQUENCE", &sequence.name),
            Kind::XmlSchema(schema) => module(schema.definition, "XML SCHEMA COLLECTION", &schema.name),
            Kind::CreateProcedure(procedure) => module(procedure.definition, "PROCEDURE", &procedure.name),
            Kind::CreateFunction(function) => module(function.definition, "FUNCTION", &function.name),
            Kind::CreateView(view) => module(view.definition, "VIEW", &view.name),
            Kind::CreateTrigger(trigger) => {
                let is_there = || session.find_object(&trigger.name).is_ok_and(|found| found.is_some());
                let named = Named::Trigger(&trigger.name, &trigger.parent);
                Some(Subject::new(verb(trigger.definition, is_there), "TRIGGER", named))
            }
            Kind::CreateDatabaseTrigger(trigger) => {
                let catalog = &session.database().catalog;
                let is_there = || catalog.find("", trigger.name.object(), session.id).is_some();
                let named = Named::DatabaseTrigger(&trigger.name);
                Some(Subject::new(verb(trigger.definition, is_there), "TRIGGER", named))
            }
            Kind::Drop(drop) => Subject::dropped(drop, drop.names.get(place)?),
            Kind::Principal(statement) => Some(Subject {
                event: event_of_principal(statement).to_owned(),
                object_type: "",
                named: Named::Principal(statement),
            }),
            Kind::Permission(permission) => Some(Subject {
                event: event_of_permission(permission.action).to_owned(),
                object_type: "",
                named: Named::Permission(permission),
            }),
            _ => None,
        }
    }

    fn dropped(drop: &Drop, name: &'s Name) -> Option<Subject<'s>> {
        let object_type = match drop.kind {
            ObjectKind::Table => "TABLE",
            ObjectKind::View => "VIEW",
            ObjectKind::Procedure => "PROCEDURE",
            ObjectKind::Function => "FUNCTION",
            ObjectKind::Sequence => "SEQUENCE",
            ObjectKind::Synonym => "SYNONYM",
            ObjectKind::Default => "DEFAULT",
            ObjectKind::Rule => "RULE",
            ObjectKind::XmlSchemaCollection => "XML SCHEMA COLLECTION",
            ObjectKind::Type => "TYPE",
            ObjectKind::Schema => {
                let named = Named::Schema(name.parts.last()?);
                return Some(Subject::new("DROP", "SCHEMA", named));
            }
            ObjectKind::Trigger => return Some(Subject::new("DROP", "TRIGGER", Named::DroppedTrigger(name))),
            ObjectKind::DatabaseTrigger => return Some(Subject::new("DROP", "TRIGGER", Named::DatabaseTrigger(name))),
            ObjectKind::Database => return None,
        };
        Some(Subject::new("DROP", object_type, Named::Object(name)))
    }

    /// Statistics that are dropped, as `table.statistics`.
    fn dropped_statistics(name: &'s Name) -> Option<Subject<'s>> {
        let (own, table) = name.parts.split_last()?;
        let table = Cow::Owned(Name { parts: table.to_vec() });
        Some(Subject::new("DROP", "STATISTICS", Named::Part(Some(own), table)))
    }

    /// The name that says in which database it is; `None` for what is in the current one.
    pub(super) fn place(&self) -> Option<&Name> {
        match &self.named {
            Named::Object(name) | Named::Trigger(_, name) | Named::DroppedTrigger(name) => Some(name),
            Named::Part(_, name) => (!name.parts.is_empty()).then_some(&**name),
            Named::Schema(_) | Named::DatabaseTrigger(_) | Named::Principal(_) | Named::Permission(_) => None,
        }
    }

    /// Whether it acts on what is the session's alone, or on temporary objects.
    pub(super) fn is_temporary(&self) -> bool {
        self.place().is_some_and(|name| name.object().starts_with('#'))
    }

    /// What the document says of it: stored names where it is there, else those that are written.
    pub(super) fn elements(
        &self,
        session: &SessionState,
        database: &Database,
        find: impl Fn(Class, &Name) -> Option<FoundSecurable>,
    ) -> Elements {
        let text = |name: &str| Content::Text(name.to_owned());
        let (schema, object, target) = match &self.named {
            Named::Object(name) => {
                let (schema, object) = place_of(session, name);
                (schema, object, None)
            }
            Named::Part(part, of) => {
                let (schema, table) = place_of(session, of);
                let part = part.map_or_else(String::new, |part| part.text.clone());
                (schema, part, Some((table, target_type(session, of))))
            }
            Named::Schema(name) => {
                return vec![
                    ("SchemaName", text(&name.text)),
                    ("ObjectName", text(&name.text)),
                    ("ObjectType", text(self.object_type)),
                    ("OwnerName", text(&schema_owner(session, database, &name.text))),
                ];
            }
            Named::Trigger(name, parent) => {
                let (schema, table) = place_of(session, parent);
                (
                    schema,
                    name.object().to_owned(),
                    Some((table, target_type(session, parent))),
                )
            }
            Named::DroppedTrigger(name) => {
                let (schema, trigger) = place_of(session, name);
                (schema, trigger, Some(parent_of(session, name)))
            }
            Named::Principal(statement) => {
                let found = match statement {
                    PrincipalStatement::AlterAuthorization { class, name, .. } => {
                        class_to_own(class.as_deref()).and_then(|class| find(class, name))
                    }
                    _ => None,
                };
                return elements_of_principal(session, statement, found.as_ref());
            }
            Named::Permission(permission) => {
                let found = permission.securable.as_ref().and_then(|securable| {
                    let class = class_to_own(securable.class.as_deref())?;
                    find(class, &securable.name)
                });
                return elements_of_permission(session, database, permission, found.as_ref());
            }
            Named::DatabaseTrigger(name) => {
                let target = (database.name(), "DATABASE");
                (String::new(), name.object().to_owned(), Some(target))
            }
        };
        let mut elements = vec![
            ("SchemaName", text(&schema)),
            ("ObjectName", text(&object)),
            ("ObjectType", text(self.object_type)),
        ];
        if let Some((name, kind)) = target {
            elements.push(("TargetObjectName", text(&name)));
            elements.push(("TargetObjectType", text(kind)));
        }
        elements
    }
}

/// The owner of a schema that is there; dbo of one that is about to be.
fn schema_owner(session: &SessionState, database: &Database, schema: &str) -> String {
    let id = crate::views::id_of_schema(database, session.id, schema);
    let owner = id.map(|id| SchemaOwners::of(&Entries::of(database, session.id)).owner(id));
    let owner = owner.and_then(|owner| principal_numbered(database, session.id, owner));
    owner.map_or_else(|| "dbo".to_owned(), |owner| owner.name)
}

/// Schema and name of an object, as stored or as written.
fn place_of(session: &SessionState, name: &Name) -> (String, String) {
    let found = session.find_object(name).ok().flatten();
    let stored = found
        .as_ref()
        .and_then(|(_, object)| object.definition.qualified_name());
    let (schema, object) = stored.unwrap_or_else(|| (crate::state::schema_of(name), name.object()));
    (schema.to_owned(), object.to_owned())
}

/// The word for the kind of an object that others belong to.
fn kind_of(object: &CatalogObject) -> &'static str {
    match type_code(&object.definition) {
        "U" => "TABLE",
        "V" => "VIEW",
        "P" => "PROCEDURE",
        "FN" | "IF" | "TF" => "FUNCTION",
        "TR" => "TRIGGER",
        "SO" => "SEQUENCE",
        "SN" => "SYNONYM",
        "D" => "DEFAULT",
        "R" => "RULE",
        _ => "",
    }
}

fn target_type(session: &SessionState, name: &Name) -> &'static str {
    let found = session.find_object(name).ok().flatten();
    found.map_or("TABLE", |(_, object)| kind_of(&object))
}

/// Name and kind of the table or view of a trigger.
fn parent_of(session: &SessionState, trigger: &Name) -> (String, &'static str) {
    let found = session.find_object(trigger).ok().flatten();
    let parent = found.and_then(|(database, object)| match &object.definition {
        ObjectDefinition::Module(module) if module.kind == ModuleKind::Trigger => {
            database.catalog.by_id(module.parent, session.id)
        }
        _ => None,
    });
    match parent {
        Some(parent) => {
            let name = parent.definition.qualified_name().map_or("", |(_, name)| name);
            (name.to_owned(), kind_of(&parent))
        }
        None => (String::new(), "TABLE"),
    }
}

/// The event of a procedure of the system that was given these values, with what the document says of it; `None` for one that is none.
pub(super) fn event_of_procedure(
    session: &SessionState,
    procedure: &str,
    values: &[Value],
) -> Option<(&'static str, Elements)> {
    let said = |place: usize| values.get(place).and_then(Value::as_str).unwrap_or_default();
    match procedure {
        "sp_rename" => renamed(session, values),
        "sp_addtype" => Some((
            "CREATE_TYPE",
            vec![
                ("SchemaName", Content::Text("dbo".to_owned())),
                ("ObjectName", Content::Text(said(0).to_owned())),
                ("ObjectType", Content::Text("TYPE".to_owned())),
                ("Parameters", parameters(values)),
            ],
        )),
        "sp_bindefault" => Some(("BIND_DEFAULT", binding(session, values, "DEFAULT"))),
        "sp_bindrule" => Some(("BIND_RULE", binding(session, values, "RULE"))),
        "sp_unbindefault" => Some(("UNBIND_DEFAULT", binding(session, values, ""))),
        "sp_unbindrule" => Some(("UNBIND_RULE", binding(session, values, ""))),
        "sp_addextendedproperty" => Some(("CREATE_EXTENDED_PROPERTY", property(session, values, true))),
        "sp_updateextendedproperty" => Some(("ALTER_EXTENDED_PROPERTY", property(session, values, true))),
        "sp_dropextendedproperty" => Some(("DROP_EXTENDED_PROPERTY", property(session, values, false))),
        _ => None,
    }
}

fn parameters(values: &[Value]) -> Content {
    Content::List("Param", values.iter().map(shown).collect())
}

/// A value as text; NULL is none.
fn shown(value: &Value) -> String {
    let (value, from) = match value {
        Value::Variant(variant) => (&variant.value, variant.sql_type),
        own => (own, SqlType::NVarChar(Length::Max)),
    };
    match value {
        Value::Null => String::new(),
        Value::Text(text) => text.to_string(),
        value => convert(value, from, SqlType::NVarChar(Length::Max), None)
            .ok()
            .and_then(|text| text.as_str().map(str::to_owned))
            .unwrap_or_default(),
    }
}

/// RENAME of an object, a column or an index; a database is the server's.
fn renamed(session: &SessionState, values: &[Value]) -> Option<(&'static str, Elements)> {
    let said = |place: usize| values.get(place).and_then(Value::as_str);
    let name = Name::parse(said(0)?)?;
    let kind = said(2).map_or_else(|| "OBJECT".to_owned(), str::to_uppercase);
    let text = |text: &str| Content::Text(text.to_owned());
    let (schema, object, object_type, target) = match kind.as_str() {
        "COLUMN" | "INDEX" => {
            let (last, before) = name.parts.split_last()?;
            let of = Name { parts: before.to_vec() };
            let (schema, table) = (!before.is_empty()).then(|| place_of(session, &of))?;
            (
                schema,
                last.text.clone(),
                kind.clone(),
                (table, target_type(session, &of)),
            )
        }
        "OBJECT" => {
            let (_, found) = session.find_object(&name).ok().flatten()?;
            let (schema, object) = found.definition.qualified_name()?;
            (
                schema.to_owned(),
                object.to_owned(),
                kind_of(&found).to_owned(),
                (String::new(), ""),
            )
        }
        _ => return None,
    };
    let elements = vec![
        ("SchemaName", text(&schema)),
        ("ObjectName", text(&object)),
        ("ObjectType", text(&object_type)),
        ("TargetObjectName", text(&target.0)),
        ("TargetObjectType", text(target.1)),
        ("NewObjectName", text(said(1)?)),
        ("Parameters", parameters(values)),
    ];
    Some(("RENAME", elements))
}

/// The elements of a default or rule that is bound, or of what it is unbound from: what comes first among the values.
fn binding(session: &SessionState, values: &[Value], object_type: &str) -> Elements {
    let written = values.first().and_then(Value::as_str).unwrap_or_default();
    let place = Name::parse(written).map(|name| place_of(session, &name));
    let (schema, object) = place.unwrap_or_else(|| (String::new(), written.to_owned()));
    vec![
        ("SchemaName", Content::Text(schema)),
        ("ObjectName", Content::Text(object)),
        ("ObjectType", Content::Text(object_type.to_owned())),
        ("Parameters", parameters(values)),
    ]
}

/// The elements of an extended property: its owner is the innermost level that is named, or the database.
fn property(session: &SessionState, values: &[Value], has_value: bool) -> Elements {
    let first_level = if has_value { 2 } else { 1 };
    let said = |place: usize| values.get(place).and_then(Value::as_str);
    let level = |number: usize| {
        let kind = said(first_level + 2 * number)?;
        Some((said(first_level + 2 * number + 1)?.to_owned(), kind.to_uppercase()))
    };
    let levels: Vec<(String, String)> = (0..3).map_while(level).collect();
    let database = || (session.database().name(), "DATABASE".to_owned());
    let nothing = || (String::new(), String::new());
    let (schema, object, target) = match levels.as_slice() {
        [] => (String::new(), database(), nothing()),
        [schema] => (schema.0.clone(), schema.clone(), nothing()),
        [schema, object] => (schema.0.clone(), object.clone(), nothing()),
        [schema, of, part, ..] => (schema.0.clone(), part.clone(), of.clone()),
    };
    let text = Content::Text;
    let mut elements = vec![
        ("SchemaName", text(schema)),
        ("ObjectName", text(object.0)),
        ("ObjectType", text(object.1)),
        ("TargetObjectName", text(target.0)),
        ("TargetObjectType", text(target.1)),
        ("PropertyName", text(said(0).unwrap_or_default().to_owned())),
    ];
    if has_value {
        elements.push(("PropertyValue", text(values.get(1).map(shown).unwrap_or_default())));
    }
    elements.push(("Parameters", parameters(values)));
    elements
}

/// `AlterTableActionList`: the columns and constraints that an ALTER TABLE has made and dropped, and the column that it has changed.
pub(super) fn action_list(kind: Option<&StatementKind>, before: &TableDefinition, after: &TableDefinition) -> String {
    let columns =
        |table: &TableDefinition| -> Vec<String> { table.columns.iter().map(|column| column.name.clone()).collect() };
    let constraints =
        |table: &TableDefinition| -> Vec<String> { constraints_of(table).map(|one| one.name.to_owned()).collect() };
    let only = |these: Vec<String>, others: &[String]| -> Vec<String> {
        these.into_iter().filter(|name| !others.contains(name)).collect()
    };
    let altered = match kind {
        Some(StatementKind::AlterTable(alter)) => match &alter.action {
            AlterTableAction::AlterColumn { name, .. } => vec![name.text.clone()],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    let actions = [
        (
            "Create",
            only(columns(after), &columns(before)),
            only(constraints(after), &constraints(before)),
        ),
        ("Alter", altered, Vec::new()),
        (
            "Drop",
            only(columns(before), &columns(after)),
            only(constraints(before), &constraints(after)),
        ),
    ];
    let mut list = String::new();
    for (action, columns, constraints) in actions {
        let mut parts = String::new();
        for (kind, names) in [("Columns", columns), ("Constraints", constraints)] {
            let names: String = names
                .iter()
                .map(|name| format!("<Name>{}</Name>", escaped(name)))
                .collect();
            if !names.is_empty() {
                parts += &format!("<{kind}>{names}</{kind}>");
            }
        }
        if !parts.is_empty() {
            list += &format!("<{action}>{parts}</{action}>");
        }
    }
    match list.is_empty() {
        true => list,
        false => format!("<AlterTableActionList>{list}</AlterTableActionList>"),
    }
}

/// The whole document of an event; `actions` is XML.
pub(super) fn document(
    session: &SessionState,
    database: &Database,
    event: &str,
    (elements, actions): (&Elements, &str),
    command: &str,
) -> String {
    let mut document = String::from("<EVENT_INSTANCE>");
    let now = session.now_ticks();
    let now = Value::DateTime {
        days: now.days,
        ticks: now.ticks,
    };
    let posted = convert(&now, SqlType::DateTime, SqlType::VarChar(Length::Max), Some(126));
    let posted = posted.ok().and_then(|text| text.as_str().map(str::to_owned));
    let common = [
        ("EventType", event.to_owned()),
        ("PostTime", posted.unwrap_or_default()),
        ("SPID", session.id.to_string()),
        ("ServerName", session.instance.options.server_name.clone()),
        ("LoginName", session.login_name()),
        ("UserName", "dbo".to_owned()),
        ("DatabaseName", database.name()),
    ];
    for (name, text) in &common {
        push_element(&mut document, name, text);
    }
    for (name, content) in elements {
        match content {
            Content::Text(text) => push_element(&mut document, name, text),
            Content::List(each, texts) => {
                document += &format!("<{name}>");
                for text in texts {
                    push_element(&mut document, each, text);
                }
                document += &format!("</{name}>");
            }
        }
    }
    document.push_str(actions);
    let word = |is_on: bool| if is_on { "ON" } else { "OFF" };
    let options = session.options();
    document += &format!(
        "<TSQLCommand><SetOptions ANSI_NULLS=\"{}\" ANSI_NULL_DEFAULT=\"{}\" ANSI_PADDING=\"{}\" QUOTED_IDENTIFIER=\"{}\" \
         ENCRYPTED=\"FALSE\"/>",
        word(options.ansi_nulls),
        word(options.ansi_null_default_on),
        word(options.ansi_padding),
        word(options.quoted_identifier),
    );
    push_element(&mut document, "CommandText", command);
    document.push_str("</TSQLCommand></EVENT_INSTANCE>");
    document
}

/// An element with a text; one without is empty.
fn push_element(document: &mut String, name: &str, text: &str) {
    match text.is_empty() {
        true => *document += &format!("<{name}/>"),
        false => *document += &format!("<{name}>{}</{name}>", escaped(text)),
    }
}

/// A text as it stands in an element. Characters that XML 1.0 has no place for are left out.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '\r' => safe.push_str("&#x0D;"),
            '\t' | '\n' => safe.push(character),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            other => safe.push(other),
        }
    }
    safe
}
