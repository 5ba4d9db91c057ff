//! The places of a source where one small change can be made, and the changes.
//!
//! A place is a span of bytes of the text. What is inside of tests, constants, `const fn`, patterns, types, attributes and
//! macros is left alone, and so is what only sizes memory ahead (`with_capacity`, `reserve`), which no answer can tell.

use proc_macro2::Span;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, Lit, Pat, ReturnType, Stmt, Type};

/// The kinds of changes, as the report names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// `<` and `<=`, `>` and `>=`, `==` and `!=` for one another.
    Comparison,
    /// `&&` and `||` for one another.
    Logic,
    /// `+` and `-`, `+=` and `-=` for one another.
    Arithmetic,
    /// The opposite of an `if`'s condition, or of one link of its chain.
    Condition,
    /// A match arm's guard that always or never holds.
    Guard,
    /// `true`, `false`, `None`, or `Ok` of them or of `()`, in place of what a function answers.
    Answer,
    /// A function that answers `Ok(())` at once.
    Early,
    /// A call as a statement that is not made.
    Call,
    /// A whole number that bounds something, one more or one less.
    Bound,
}

impl Operator {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Operator::Comparison => "comparison",
            Operator::Logic => "and / or",
            Operator::Arithmetic => "plus / minus",
            Operator::Condition => "condition negated",
            Operator::Guard => "guard fixed",
            Operator::Answer => "answer replaced",
            Operator::Early => "early Ok(())",
            Operator::Call => "call left out",
            Operator::Bound => "number +-1",
        }
    }
}

/// How the changed text takes the place of the span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Expression,
    /// Nothing, in place of a statement.
    Statement,
    /// Statements where nothing was: the span is empty.
    Insertion,
}

/// One change of one place.
#[derive(Clone, Debug)]
pub struct Site {
    /// The bytes of the source that are replaced.
    pub span: Range<usize>,
    /// Line of the change, from 1.
    pub line: usize,
    /// Which kind of change.
    pub operator: Operator,
    /// How the text takes its place.
    pub form: Form,
    /// What stands there instead.
    pub changed: String,
}

/// What a function answers, as far as answers are replaced.
#[derive(Clone, Copy, PartialEq)]
enum Answers {
    Bool,
    Option,
    ResultUnit,
    ResultBool,
    ResultOption,
    Other,
}

impl Answers {
    fn of(output: &ReturnType) -> Answers {
        let ReturnType::Type(_, answer) = output else {
            return Answers::Other;
        };
        match simple(answer).as_str() {
            "bool" => Answers::Bool,
            "Option" => Answers::Option,
            "Result" => match argument(answer).as_deref() {
                Some("()") => Answers::ResultUnit,
                Some("bool") => Answers::ResultBool,
                Some("Option") => Answers::ResultOption,
                _ => Answers::Other,
            },
            _ => Answers::Other,
        }
    }

    fn replacements(self) -> &'static [&'static str] {
        match self {
            Answers::Bool => &["true", "false"],
            Answers::Option => &["None"],
            Answers::ResultUnit => &["Ok(())"],
            Answers::ResultBool => &["Ok(true)", "Ok(false)"],
            Answers::ResultOption => &["Ok(None)"],
            Answers::Other => &[],
        }
    }
}

/// The last name of a type's path; `()` of the empty tuple.
fn simple(of: &Type) -> String {
    match of {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        Type::Tuple(tuple) if tuple.elems.is_empty() => Some("()".to_string()),
        _ => None,
    }
    .unwrap_or_default()
}

/// The simple name of a type's first argument.
fn argument(of: &Type) -> Option<String> {
    let Type::Path(path) = of else {
        return None;
    };
    let syn::PathArguments::AngleBracketed(list) = &path.path.segments.last()?.arguments else {
        return None;
    };
    match list.args.first()? {
        syn::GenericArgument::Type(first) => Some(simple(first)),
        _ => None,
    }
}

/// All sites of a source, in the order of their place; `Err` tells where it is not Rust.
pub fn find(source: &str) -> Result<Vec<Site>, String> {
    let file = syn::parse_file(source).map_err(|error| format!("line {}: {error}", error.span().start().line))?;
    let mut finder = Finder {
        source,
        sites: Vec::new(),
        answers: Answers::Other,
    };
    finder.visit_file(&file);
    let mut sites = finder.sites;
    sites.sort_by_key(|site| (site.span.start, std::cmp::Reverse(site.span.end)));
    Ok(sites)
}

/// The modules that a source declares for tests alone: `#[cfg(test)] mod tests;`.
pub fn test_modules(source: &str) -> Result<Vec<String>, String> {
    let file = syn::parse_file(source).map_err(|error| error.to_string())?;
    let modules = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if is_for_tests(&module.attrs) => Some(module.ident.to_string()),
        _ => None,
    });
    Ok(modules.collect())
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let named = |name: &str| attribute.path().is_ident(name);
        named("test") || named("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "test")
    })
}

struct Finder<'s> {
    source: &'s str,
    sites: Vec<Site>,
    /// Of the function that is visited; `Other` inside of closures.
    answers: Answers,
}

impl Finder<'_> {
    fn text(&self, span: Span) -> &str {
        self.source.get(span.byte_range()).unwrap_or_default()
    }

    fn add(&mut self, span: Span, operator: Operator, form: Form, changed: String) {
        self.sites.push(Site {
            span: span.byte_range(),
            line: span.start().line,
            operator,
            form,
            changed,
        });
    }

    fn expression(&mut self, of: &Expr, operator: Operator, changed: &str) {
        self.add(of.span(), operator, Form::Expression, changed.to_string());
    }

    fn function(&mut self, signature: &syn::Signature, body: &Block) {
        if signature.constness.is_some() {
            return;
        }
        let outer = std::mem::replace(&mut self.answers, Answers::of(&signature.output));
        if self.answers == Answers::ResultUnit {
            let start = body.brace_token.span.open().byte_range().end;
            self.sites.push(Site {
                span: start..start,
                line: signature.ident.span().start().line,
                operator: Operator::Early,
                form: Form::Insertion,
                changed: "return Ok(());".to_string(),
            });
        }
        self.tail_of_block(body);
        self.visit_block(body);
        self.answers = outer;
    }

    fn tail_of_block(&mut self, block: &Block) {
        match block.stmts.last() {
            Some(Stmt::Expr(last, None)) => self.tail(last),
            Some(Stmt::Macro(last)) if last.semi_token.is_none() && !diverges(&last.mac) => self.answer(last.span()),
            _ => {}
        }
    }

    /// The leaves of what a function ends with, through branches and arms.
    fn tail(&mut self, last: &Expr) {
        match last {
            Expr::If(branch) => {
                self.tail_of_block(&branch.then_branch);
                if let Some((_, other)) = &branch.else_branch {
                    self.tail(other);
                }
            }
            Expr::Match(choice) => choice.arms.iter().for_each(|arm| self.tail(&arm.body)),
            Expr::Block(inner) => self.tail_of_block(&inner.block),
            Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) | Expr::Loop(_) | Expr::Unsafe(_) => {}
            Expr::Macro(call) if diverges(&call.mac) => {}
            _ => self.answer(last.span()),
        }
    }

    /// The replacements of an answer that stands at `span`.
    fn answer(&mut self, span: Span) {
        let written = self.text(span).to_string();
        for &other in self.answers.replacements() {
            if other != written {
                self.add(span, Operator::Answer, Form::Expression, other.to_string());
            }
        }
    }

    fn bound(&mut self, number: &Expr) {
        let Expr::Lit(literal) = number else {
            return;
        };
        let Lit::Int(written) = &literal.lit else {
            return;
        };
        let Ok(value) = written.base10_parse::<u64>() else {
            return;
        };
        let suffix = written.suffix();
        self.expression(number, Operator::Bound, &format!("{}{suffix}", value + 1));
        if let Some(less) = value.checked_sub(1) {
            self.expression(number, Operator::Bound, &format!("{less}{suffix}"));
        }
    }

    fn binary(&mut self, node: &syn::ExprBinary) {
        let (operator, other) = match node.op {
            BinOp::Lt(_) => (Operator::Comparison, "<="),
            BinOp::Le(_) => (Operator::Comparison, "<"),
            BinOp::Gt(_) => (Operator::Comparison, ">="),
            BinOp::Ge(_) => (Operator::Comparison, ">"),
            BinOp::Eq(_) => (Operator::Comparison, "!="),
            BinOp::Ne(_) => (Operator::Comparison, "=="),
            BinOp::And(_) if links_let(&node.left) || links_let(&node.right) => return,
            BinOp::And(_) => (Operator::Logic, "||"),
            BinOp::Or(_) => (Operator::Logic, "&&"),
            BinOp::Add(_) => (Operator::Arithmetic, "-"),
            BinOp::Sub(_) => (Operator::Arithmetic, "+"),
            BinOp::AddAssign(_) => (Operator::Arithmetic, "-="),
            BinOp::SubAssign(_) => (Operator::Arithmetic, "+="),
            _ => return,
        };
        let (left, right) = (self.text(node.left.span()), self.text(node.right.span()));
        // A logic operator's side may hold the other one, which binds otherwise.
        let changed = match operator {
            Operator::Logic => format!("({left}) {other} ({right})"),
            _ => format!("{left} {other} {right}"),
        };
        self.add(node.span(), operator, Form::Expression, changed);
    }

    /// The links of an `if`'s condition that are no patterns, each negated. An equation is left to [`Operator::Comparison`].
    fn negations(&mut self, condition: &Expr) {
        match condition {
            Expr::Let(_) => {}
            Expr::Binary(chain) if matches!(chain.op, BinOp::And(_)) && links_let(condition) => {
                self.negations(&chain.left);
                self.negations(&chain.right);
            }
            Expr::Binary(equation) if matches!(equation.op, BinOp::Eq(_) | BinOp::Ne(_)) => {}
            _ => {
                let changed = format!("!({})", self.text(condition.span()));
                self.expression(condition, Operator::Condition, &changed);
            }
        }
    }
}

/// Whether a condition has a pattern as a link.
fn links_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(chain) if matches!(chain.op, BinOp::And(_)) => links_let(&chain.left) || links_let(&chain.right),
        _ => false,
    }
}

fn diverges(call: &syn::Macro) -> bool {
    let names = ["panic", "unreachable"];
    names.iter().any(|name| call.path.is_ident(name))
}

/// Whether a name is that of a call which only sizes memory ahead.
fn only_sizes_memory(name: &str) -> bool {
    matches!(name, "with_capacity" | "reserve" | "reserve_exact" | "shrink_to_fit")
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        if !is_for_tests(&node.attrs) {
            visit::visit_item_mod(self, node);
        }
    }

    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        if !is_for_tests(&node.attrs) {
            self.function(&node.sig, &node.block);
        }
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        if !is_for_tests(&node.attrs) {
            self.function(&node.sig, &node.block);
        }
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        if let Some(body) = &node.default {
            self.function(&node.sig, body);
        }
    }

    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_angle_bracketed_generic_arguments(&mut self, _: &'ast syn::AngleBracketedGenericArguments) {}

    fn visit_pat(&mut self, node: &'ast Pat) {
        let Pat::Guard(guarded) = node else {
            return;
        };
        if !links_let(&guarded.guard) {
            self.expression(&guarded.guard, Operator::Guard, "true");
            self.expression(&guarded.guard, Operator::Guard, "false");
        }
        self.visit_expr(&guarded.guard);
    }

    fn visit_expr_closure(&mut self, node: &'ast syn::ExprClosure) {
        let outer = std::mem::replace(&mut self.answers, Answers::Other);
        self.visit_expr(&node.body);
        self.answers = outer;
    }

    fn visit_expr_return(&mut self, node: &'ast syn::ExprReturn) {
        if let Some(answer) = &node.expr {
            self.tail(answer);
        }
        visit::visit_expr_return(self, node);
    }

    fn visit_expr_if(&mut self, node: &'ast syn::ExprIf) {
        self.negations(&node.cond);
        visit::visit_expr_if(self, node);
    }

    fn visit_expr_binary(&mut self, node: &'ast syn::ExprBinary) {
        self.binary(node);
        self.bound(&node.left);
        self.bound(&node.right);
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_range(&mut self, node: &'ast syn::ExprRange) {
        for end in [&node.start, &node.end].into_iter().flatten() {
            self.bound(end);
        }
        visit::visit_expr_range(self, node);
    }

    fn visit_expr_index(&mut self, node: &'ast syn::ExprIndex) {
        self.bound(&node.index);
        visit::visit_expr_index(self, node);
    }

    fn visit_expr_repeat(&mut self, node: &'ast syn::ExprRepeat) {
        self.visit_expr(&node.expr);
    }

    fn visit_expr_call(&mut self, node: &'ast syn::ExprCall) {
        let named = match &*node.func {
            Expr::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        if !named.is_some_and(|name| only_sizes_memory(&name)) {
            visit::visit_expr_call(self, node);
        }
    }

    fn visit_expr_method_call(&mut self, node: &'ast syn::ExprMethodCall) {
        if only_sizes_memory(&node.method.to_string()) {
            return self.visit_expr(&node.receiver);
        }
        node.args.iter().for_each(|argument| self.bound(argument));
        visit::visit_expr_method_call(self, node);
    }

    fn visit_stmt(&mut self, node: &'ast Stmt) {
        if let Stmt::Expr(call, Some(_)) = node
            && is_call(call)
        {
            self.add(node.span(), Operator::Call, Form::Statement, String::new());
        }
        visit::visit_stmt(self, node);
    }
}

/// Whether a statement is a call, with `?` or without, that does more than size memory ahead.
fn is_call(statement: &Expr) -> bool {
    match statement {
        Expr::Try(tried) => is_call(&tried.expr),
        Expr::MethodCall(call) => call.attrs.is_empty() && !only_sizes_memory(&call.method.to_string()),
        Expr::Call(call) => call.attrs.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
