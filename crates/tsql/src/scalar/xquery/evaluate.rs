//! Evaluates a query on a document.
//!
//! Invariant: the sequences and texts of an evaluation are charged before they can double: each expression's result when it is built, a
//! variable's until its scope ends, the results of a loop until the loop's own result replaces them.

use std::collections::BTreeSet;
use std::rc::Rc;

use engine::cancel;
use engine::error::Result;
use engine::memory::Charge;
use engine::types::{Bytes, Value};

use super::construct::Fragment;
use super::document::{Document, NodeId, NodeKind};
use super::not_done;
use super::tree::{Arithmetic, AtomicType, Axis, BinaryForm, Clause, Comparison, Expression, Function, Step, Test};
use crate::scalar::base64;
use crate::scalar::convert::parse_hexadecimal;
use crate::scalar::number::parse_float;

/// An item of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    Node(NodeId),
    /// A node that the query made.
    Fragment(Rc<Fragment>),
    Text(String),
    Number(f64),
    Truth(bool),
    Bytes(Bytes, BinaryForm),
}

type Items = Vec<Item>;

/// Evaluates a query at a node; `externals` are the values that it asks of the statement around it.
///
/// The charge covers the items, and is to be kept as long as they are.
///
/// # Errors
/// 701 when there is no memory for what it finds; 3617 when the request is to stop.
pub fn evaluate(
    document: &Document,
    body: &Expression,
    context: NodeId,
    externals: &[Option<Item>],
) -> Result<(Vec<Item>, Charge)> {
    let mut evaluator = Evaluator {
        document,
        externals,
        variables: Vec::new(),
        held_bytes: 0,
        charge: Charge::default(),
    };
    let focus = Focus {
        item: Item::Node(context),
        position: 1,
        size: 1,
    };
    let items = evaluator.of(body, &focus)?;
    Ok((items, evaluator.charge))
}

fn bytes_of(items: &[Item]) -> u64 {
    let texts = items.iter().map(|item| match item {
        Item::Text(text) => text.len() as u64,
        Item::Fragment(fragment) => (fragment.text.len() + fragment.value.len()) as u64,
        Item::Bytes(bytes, _) => bytes.len() as u64,
        _ => 0,
    });
    std::mem::size_of_val(items) as u64 + texts.sum::<u64>()
}

/// The text of an item: of a node, its value.
pub fn atom_text(document: &Document, item: &Item) -> String {
    match item {
        Item::Node(id) => document.string(*id),
        Item::Fragment(fragment) => fragment.value.clone(),
        Item::Text(text) => text.clone(),
        Item::Number(number) => number.to_string(),
        Item::Truth(truth) => truth.to_string(),
        Item::Bytes(bytes, BinaryForm::Base64) => base64::encoded(bytes),
        Item::Bytes(bytes, BinaryForm::Hexadecimal) => bytes.iter().map(|byte| format!("{byte:02X}")).collect(),
    }
}

/// The bytes of an item: of a text, those that it is base64 of; `None` where it is not.
///
/// # Errors
/// 701.
pub fn atom_bytes(document: &Document, item: &Item) -> Result<Option<Bytes>> {
    let Item::Bytes(bytes, _) = item else {
        return from_base64(&atom_text(document, item));
    };
    Ok(Some(bytes.clone()))
}

fn from_base64(text: &str) -> Result<Option<Bytes>> {
    match base64::decoded(text) {
        Ok(Value::Binary(bytes)) => Ok(Some(bytes)),
        Err(error) if error.number == INVALID_BASE64 => Ok(None),
        Err(error) => Err(error),
        Ok(_) => Ok(None),
    }
}

/// The number of `messages::invalid_base64`.
const INVALID_BASE64: i32 = 9803;

/// What is looked at, and its place among its kind.
pub(super) struct Focus {
    item: Item,
    position: usize,
    size: usize,
}

pub(super) struct Evaluator<'e> {
    pub(super) document: &'e Document,
    externals: &'e [Option<Item>],
    variables: Vec<(&'e str, Items)>,
    /// What is held of results, at least.
    held_bytes: u64,
    charge: Charge,
}

impl<'e> Evaluator<'e> {
    pub(super) fn of(&mut self, expression: &'e Expression, focus: &Focus) -> Result<Items> {
        cancel::spend(1)?;
        let held_before = self.held_bytes;
        let items = self.found_by(expression, focus)?;
        self.held_bytes = held_before;
        self.hold(bytes_of(&items))?;
        Ok(items)
    }

    /// Asks for memory of a text that grows, beside what is held.
    pub(super) fn hold_text(&mut self, text: &str) -> Result<()> {
        cancel::spend(1)?;
        self.charge.grow_to(self.held_bytes + text.len() as u64)
    }

    fn hold(&mut self, bytes: u64) -> Result<()> {
        self.held_bytes += bytes;
        self.charge.grow_to(self.held_bytes)
    }

    fn found_by(&mut self, expression: &'e Expression, focus: &Focus) -> Result<Items> {
        Ok(match expression {
            Expression::Text(text) => vec![Item::Text(text.clone())],
            Expression::Number(number) => vec![Item::Number(*number)],
            Expression::Sequence(items) => {
                let mut all = Vec::new();
                for item in items {
                    all.extend(self.of(item, focus)?);
                }
                all
            }
            Expression::Context => vec![focus.item.clone()],
            Expression::Root => vec![Item::Node(0)],
            Expression::Variable(name) => {
                let mut known = self.variables.iter().rev();
                let found = known.find(|(known, _)| known == name);
                found.map(|(_, value)| value.clone()).unwrap_or_default()
            }
            Expression::External(place) => self.externals.get(*place).cloned().flatten().into_iter().collect(),
            Expression::Or(parts) => {
                let mut is_true = false;
                for part in parts {
                    is_true = is_true || self.truth(part, focus)?;
                }
                vec![Item::Truth(is_true)]
            }
            Expression::And(parts) => {
                let mut is_true = true;
                for part in parts {
                    is_true = is_true && self.truth(part, focus)?;
                }
                vec![Item::Truth(is_true)]
            }
            Expression::Compare(comparison, left, right) => {
                let (left, right) = (self.of(left, focus)?, self.of(right, focus)?);
                vec![Item::Truth(self.compare(*comparison, &left, &right)?)]
            }
            Expression::Arithmetic(operator, left, right) => self.computed(*operator, left, right, focus)?,
            Expression::Negate(operand) => {
                let operand = self.of(operand, focus)?;
                operand
                    .first()
                    .map(|item| Item::Number(-self.number(item)))
                    .into_iter()
                    .collect()
            }
            Expression::Step(left, step) => self.step(left, step, focus)?,
            Expression::Filter(operand, predicates) => {
                let items = self.of(operand, focus)?;
                self.filtered(items, predicates)?
            }
            Expression::Call(function, arguments) => self.call(*function, arguments, focus)?,
            Expression::Typed(atomic_type, operand) => self.typed(*atomic_type, operand, focus)?,
            Expression::If(parts) => match self.truth(&parts[0], focus)? {
                true => self.of(&parts[1], focus)?,
                false => self.of(&parts[2], focus)?,
            },
            Expression::For { clauses, order, result } => self.looped(clauses, order, result, focus)?,
            Expression::Quantified {
                is_every,
                bindings,
                condition,
            } => vec![Item::Truth(self.quantified(*is_every, bindings, condition, focus)?)],
            Expression::Union(parts) => self.union(parts, focus)?,
            Expression::Constructor(constructor) => {
                vec![Item::Fragment(Rc::new(self.constructed(constructor, focus)?))]
            }
        })
    }

    fn looped(
        &mut self,
        clauses: &'e [Clause],
        order: &'e [(Expression, bool)],
        result: &'e Expression,
        focus: &Focus,
    ) -> Result<Items> {
        let mut found = Vec::new();
        if order.is_empty() {
            self.clauses(clauses, focus, &mut |evaluator| {
                found.extend(evaluator.of(result, focus)?);
                Ok(())
            })?;
            return Ok(found);
        }
        let mut sorted: Vec<(Vec<Option<Item>>, Items)> = Vec::new();
        self.clauses(clauses, focus, &mut |evaluator| {
            let mut keys = Vec::with_capacity(order.len());
            for (key, _) in order {
                let items = evaluator.of(key, focus)?;
                keys.push(evaluator.atoms(&items)?.into_iter().next());
            }
            sorted.push((keys, evaluator.of(result, focus)?));
            Ok(())
        })?;
        sorted.sort_by(|(left, _), (right, _)| {
            let pairs = left.iter().zip(right).zip(order);
            let mut orders = pairs.map(|((left, right), (_, descends))| {
                let order = key_order(left.as_ref(), right.as_ref());
                if *descends { order.reverse() } else { order }
            });
            orders.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        });
        found.extend(sorted.into_iter().flat_map(|(_, items)| items));
        Ok(found)
    }

    fn quantified(
        &mut self,
        is_every: bool,
        bindings: &'e [(String, Expression)],
        condition: &'e Expression,
        focus: &Focus,
    ) -> Result<bool> {
        let Some(((name, value), rest)) = bindings.split_first() else {
            return self.truth(condition, focus);
        };
        let items = self.of(value, focus)?;
        let bytes = bytes_of(&items);
        let mut holds = is_every;
        for item in items {
            self.with(name, vec![item], |evaluator| {
                holds = evaluator.quantified(is_every, rest, condition, focus)?;
                Ok(())
            })?;
            if holds != is_every {
                break;
            }
        }
        self.held_bytes -= bytes;
        Ok(holds)
    }

    fn union(&mut self, parts: &'e [Expression], focus: &Focus) -> Result<Items> {
        let mut nodes = BTreeSet::new();
        for part in parts {
            for item in self.of(part, focus)? {
                match item {
                    Item::Node(id) => nodes.insert(id),
                    _ => return Err(not_done("union of other items than nodes of the document")),
                };
            }
        }
        Ok(nodes.into_iter().map(Item::Node).collect())
    }

    /// Nothing where a side is nothing.
    fn computed(
        &mut self,
        operator: Arithmetic,
        left: &'e Expression,
        right: &'e Expression,
        focus: &Focus,
    ) -> Result<Items> {
        let (left, right) = (self.of(left, focus)?, self.of(right, focus)?);
        let (Some(left), Some(right)) = (left.first(), right.first()) else {
            return Ok(Vec::new());
        };
        let computed = arithmetic(operator, self.number(left), self.number(right));
        Ok(vec![Item::Number(computed)])
    }

    /// Does something for each round of a loop.
    fn clauses(
        &mut self,
        clauses: &'e [Clause],
        focus: &Focus,
        round: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let Some((first, rest)) = clauses.split_first() else {
            return round(self);
        };
        match first {
            Clause::Where(condition) => match self.truth(condition, focus)? {
                true => self.clauses(rest, focus, round),
                false => Ok(()),
            },
            Clause::Let(name, value) => {
                let value = self.of(value, focus)?;
                let bytes = bytes_of(&value);
                self.with(name, value, |evaluator| evaluator.clauses(rest, focus, round))?;
                self.held_bytes -= bytes;
                Ok(())
            }
            Clause::For(name, value) => {
                let items = self.of(value, focus)?;
                let bytes = bytes_of(&items);
                for item in items {
                    self.with(name, vec![item], |evaluator| evaluator.clauses(rest, focus, round))?;
                }
                self.held_bytes -= bytes;
                Ok(())
            }
        }
    }

    fn with(&mut self, name: &'e str, value: Items, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.variables.push((name, value));
        let result = work(self);
        self.variables.pop();
        result
    }

    /// What a step finds from the nodes of its left side: in the order of the document, each once.
    fn step(&mut self, left: &'e Expression, step: &'e Step, focus: &Focus) -> Result<Items> {
        let mut found = BTreeSet::new();
        for item in self.of(left, focus)? {
            let id = match item {
                Item::Node(id) => id,
                Item::Fragment(_) => return Err(not_done("path into constructed xml")),
                _ => continue,
            };
            let mut nodes = Vec::new();
            self.axis(step, id, &mut nodes)?;
            let nodes = self.filtered(nodes, &step.predicates)?;
            found.extend(nodes.into_iter().filter_map(|item| match item {
                Item::Node(id) => Some(id),
                _ => None,
            }));
        }
        Ok(found.into_iter().map(Item::Node).collect())
    }

    fn axis(&self, step: &Step, id: NodeId, nodes: &mut Items) -> Result<()> {
        let document = self.document;
        let mut add = |other: NodeId| {
            cancel::spend(1)?;
            if self.passes(&step.test, other, step.axis) {
                nodes.push(Item::Node(other));
            }
            Ok(())
        };
        match step.axis {
            Axis::Child => document.children(id).into_iter().try_for_each(add),
            Axis::Descendant => document.descendants(id).try_for_each(add),
            Axis::DescendantOrSelf => {
                add(id)?;
                document.descendants(id).try_for_each(add)
            }
            Axis::Attribute => document.attributes(id).try_for_each(add),
            Axis::Itself => add(id),
            Axis::Parent if id == 0 => Ok(()),
            Axis::Parent => add(document.node(id).parent),
        }
    }

    fn passes(&self, test: &Test, id: NodeId, axis: Axis) -> bool {
        let node = self.document.node(id);
        let is_principal = match axis {
            Axis::Attribute => node.kind == NodeKind::Attribute,
            _ => node.kind == NodeKind::Element,
        };
        match test {
            Test::Name { namespace, local } => {
                is_principal && node.local_name() == local && node.namespace == *namespace
            }
            Test::AnyName => is_principal,
            Test::AnyOf(namespace) => is_principal && node.namespace == *namespace,
            Test::AnyNamespace(local) => is_principal && node.local_name() == local,
            Test::Node => true,
            Test::Text => node.kind == NodeKind::Text,
            Test::Comment => node.kind == NodeKind::Comment,
            Test::Instruction => node.kind == NodeKind::Instruction,
        }
    }

    /// The items for which all predicates hold; a number is a place.
    fn filtered(&mut self, items: Items, predicates: &'e [Expression]) -> Result<Items> {
        let mut items = items;
        for predicate in predicates {
            let size = items.len();
            let mut kept = Vec::new();
            for (index, item) in items.into_iter().enumerate() {
                let focus = Focus {
                    item: item.clone(),
                    position: index + 1,
                    size,
                };
                let held_before = self.held_bytes;
                let value = self.of(predicate, &focus)?;
                self.held_bytes = held_before;
                let holds = match value.as_slice() {
                    [Item::Number(place)] => *place == focus.position as f64,
                    value => is_true(value),
                };
                if holds {
                    kept.push(item);
                }
            }
            items = kept;
        }
        Ok(items)
    }

    fn truth(&mut self, expression: &'e Expression, focus: &Focus) -> Result<bool> {
        let held_before = self.held_bytes;
        let items = self.of(expression, focus)?;
        self.held_bytes = held_before;
        Ok(is_true(&items))
    }

    fn text(&self, item: &Item) -> String {
        atom_text(self.document, item)
    }

    fn number(&self, item: &Item) -> f64 {
        match item {
            Item::Number(number) => *number,
            Item::Truth(truth) => f64::from(u8::from(*truth)),
            other => parse_float(self.text(other).trim()).unwrap_or(f64::NAN),
        }
    }

    /// An item as one of a type; nothing where it is none (sql-docs, "Type casting rules in XQuery": an error is the empty sequence).
    fn typed(&mut self, atomic_type: AtomicType, operand: &'e Expression, focus: &Focus) -> Result<Items> {
        let operand = self.of(operand, focus)?;
        let Some(item) = operand.first() else {
            return Ok(Vec::new());
        };
        let text = || self.text(item);
        let trimmed = || text().trim().to_owned();
        let typed = match atomic_type {
            AtomicType::Text => Some(Item::Text(text())),
            AtomicType::Truth => match item {
                Item::Number(number) => Some(Item::Truth(*number != 0.0 && !number.is_nan())),
                _ => match trimmed().as_str() {
                    "true" | "1" => Some(Item::Truth(true)),
                    "false" | "0" => Some(Item::Truth(false)),
                    _ => None,
                },
            },
            AtomicType::Number => Some(self.number(item))
                .filter(|number| !number.is_nan())
                .map(Item::Number),
            AtomicType::Whole(first, last) => {
                let number = match item {
                    Item::Text(_) | Item::Node(_) | Item::Fragment(_) | Item::Bytes(..) => {
                        trimmed().parse::<i64>().ok().map(|whole| whole as f64)
                    }
                    Item::Number(_) | Item::Truth(_) => Some(self.number(item).trunc()),
                };
                let is_within = |number: &f64| (first as f64..=last as f64).contains(number);
                number.filter(is_within).map(Item::Number)
            }
            AtomicType::Binary(form) => {
                let bytes = match (item, form) {
                    (Item::Bytes(bytes, _), _) => Some(bytes.clone()),
                    (_, BinaryForm::Base64) => from_base64(&text())?,
                    (_, BinaryForm::Hexadecimal) => parse_hexadecimal(&trimmed()).map(Bytes::from),
                };
                bytes.map(|bytes| Item::Bytes(bytes, form))
            }
        };
        Ok(typed.into_iter().collect())
    }

    /// Whether any item of one side compares so with any of the other. What is not typed compares as the other side does.
    fn compare(&self, comparison: Comparison, left: &[Item], right: &[Item]) -> Result<bool> {
        for left in left {
            for right in right {
                cancel::spend(1)?;
                let is_numeric = |item: &Item| matches!(item, Item::Number(_) | Item::Truth(_));
                let holds = match is_numeric(left) || is_numeric(right) {
                    true => holds(comparison, self.number(left).partial_cmp(&self.number(right))),
                    false => holds(comparison, Some(self.text(left).cmp(&self.text(right)))),
                };
                if holds {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The text of an argument; of the context where it is left out.
    fn text_of(&mut self, argument: Option<&'e Expression>, focus: &Focus) -> Result<String> {
        let items = match argument {
            Some(argument) => self.of(argument, focus)?,
            None => vec![focus.item.clone()],
        };
        Ok(items.first().map(|item| self.text(item)).unwrap_or_default())
    }

    fn call(&mut self, function: Function, arguments: &'e [Expression], focus: &Focus) -> Result<Items> {
        let first = arguments.first();
        let one = |item: Item| Ok(vec![item]);
        match function {
            Function::True => one(Item::Truth(true)),
            Function::False => one(Item::Truth(false)),
            Function::Position => one(Item::Number(focus.position as f64)),
            Function::Last => one(Item::Number(focus.size as f64)),
            Function::Text => one(Item::Text(self.text_of(first, focus)?)),
            Function::TextLength => one(Item::Number(self.text_of(first, focus)?.chars().count() as f64)),
            Function::LowerCase => one(Item::Text(self.text_of(first, focus)?.to_lowercase())),
            Function::UpperCase => one(Item::Text(self.text_of(first, focus)?.to_uppercase())),
            Function::Number => {
                let text = self.text_of(first, focus)?;
                one(Item::Number(parse_float(text.trim()).unwrap_or(f64::NAN)))
            }
            Function::Concat => {
                let mut text = String::new();
                for argument in arguments {
                    text.push_str(&self.text_of(Some(argument), focus)?);
                    self.charge.grow_to(self.held_bytes + text.len() as u64)?;
                }
                one(Item::Text(text))
            }
            Function::Contains => {
                let whole = self.text_of(first, focus)?;
                one(Item::Truth(whole.contains(&self.text_of(arguments.get(1), focus)?)))
            }
            Function::Substring => self.substring(arguments, focus),
            Function::LocalName | Function::NamespaceUri => {
                let items = match first {
                    Some(argument) => self.of(argument, focus)?,
                    None => vec![focus.item.clone()],
                };
                let Some(Item::Node(id)) = items.first() else {
                    return one(Item::Text(String::new()));
                };
                let node = self.document.node(*id);
                one(Item::Text(match function {
                    Function::LocalName => node.local_name().to_owned(),
                    _ => node.namespace.clone(),
                }))
            }
            _ => {
                let items = match first {
                    Some(argument) => self.of(argument, focus)?,
                    None => Vec::new(),
                };
                self.of_all(function, &items)
            }
        }
    }

    /// Functions of a whole sequence.
    fn of_all(&mut self, function: Function, items: &[Item]) -> Result<Items> {
        let number = |number: f64| vec![Item::Number(number)];
        Ok(match function {
            Function::Count => number(items.len() as f64),
            Function::Empty => vec![Item::Truth(items.is_empty())],
            Function::Not => vec![Item::Truth(!is_true(items))],
            Function::Sum => number(self.numbers(items)?.iter().sum()),
            Function::Data => self.atoms(items)?,
            Function::Distinct => {
                let (atoms, mut seen) = (self.atoms(items)?, BTreeSet::new());
                atoms.into_iter().filter(|atom| seen.insert(self.text(atom))).collect()
            }
            _ if items.is_empty() => Vec::new(),
            Function::Average => number(self.numbers(items)?.iter().sum::<f64>() / items.len() as f64),
            Function::Minimum => number(self.numbers(items)?.into_iter().fold(f64::INFINITY, f64::min)),
            Function::Maximum => number(self.numbers(items)?.into_iter().fold(f64::NEG_INFINITY, f64::max)),
            _ => Vec::new(),
        })
    }

    fn numbers(&self, items: &[Item]) -> Result<Vec<f64>> {
        let number = |item| cancel::spend(1).map(|()| self.number(item));
        items.iter().map(number).collect()
    }

    /// A node's atom is its text, which may be that of half the document for each node.
    fn atoms(&mut self, items: &[Item]) -> Result<Items> {
        let mut atoms = Vec::with_capacity(items.len());
        for item in items {
            cancel::spend(1)?;
            let atom = self.atom(item);
            self.hold(bytes_of(std::slice::from_ref(&atom)))?;
            atoms.push(atom);
        }
        Ok(atoms)
    }

    fn atom(&self, item: &Item) -> Item {
        match item {
            Item::Node(_) | Item::Fragment(_) => Item::Text(self.text(item)),
            other => other.clone(),
        }
    }

    fn substring(&mut self, arguments: &'e [Expression], focus: &Focus) -> Result<Items> {
        let text = self.text_of(arguments.first(), focus)?;
        let mut bounds = Vec::new();
        for argument in arguments.iter().skip(1) {
            let value = self.of(argument, focus)?;
            bounds.push(value.first().map_or(f64::NAN, |item| self.number(item)).round());
        }
        let start = bounds.first().copied().unwrap_or(1.0);
        let end = bounds.get(1).map_or(f64::INFINITY, |length| start + length);
        let is_within = |place: usize| (place as f64) >= start && (place as f64) < end;
        let characters = text.chars().enumerate().filter(|(index, _)| is_within(index + 1));
        Ok(vec![Item::Text(characters.map(|(_, character)| character).collect())])
    }
}

/// The order of two keys of `order by`: nothing comes first.
fn key_order(left: Option<&Item>, right: Option<&Item>) -> std::cmp::Ordering {
    match (left, right) {
        (Some(Item::Number(left)), Some(Item::Number(right))) => left.total_cmp(right),
        (Some(Item::Text(left)), Some(Item::Text(right))) => left.cmp(right),
        (Some(Item::Truth(left)), Some(Item::Truth(right))) => left.cmp(right),
        (left, right) => left.is_some().cmp(&right.is_some()),
    }
}

/// The effective boolean value.
fn is_true(items: &[Item]) -> bool {
    match items {
        [] => false,
        [Item::Truth(truth)] => *truth,
        [Item::Number(number)] => *number != 0.0 && !number.is_nan(),
        [Item::Text(text)] => !text.is_empty(),
        _ => true,
    }
}

fn holds(comparison: Comparison, order: Option<std::cmp::Ordering>) -> bool {
    let Some(order) = order else {
        return comparison == Comparison::NotEqual;
    };
    match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }
}

fn arithmetic(operator: Arithmetic, left: f64, right: f64) -> f64 {
    match operator {
        Arithmetic::Add => left + right,
        Arithmetic::Subtract => left - right,
        Arithmetic::Multiply => left * right,
        Arithmetic::Divide => left / right,
        Arithmetic::WholeDivide => (left / right).trunc(),
        Arithmetic::Modulo => left % right,
    }
}
