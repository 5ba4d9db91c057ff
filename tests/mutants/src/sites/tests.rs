//! Each kind of change on a small source, and what is left alone.
#![allow(clippy::unwrap_used)]

use super::*;

/// The changes of one kind: what stands there, what would.
fn changes(operator: Operator, source: &str) -> Vec<(String, String)> {
    let sites = find(source).unwrap();
    let of_kind = sites.iter().filter(|site| site.operator == operator);
    of_kind
        .map(|site| (source[site.span.clone()].to_string(), site.changed.clone()))
        .collect()
}

fn assert_changes(operator: Operator, source: &str, expected: &[(&str, &str)]) {
    let found = changes(operator, source);
    let found: Vec<(&str, &str)> = found.iter().map(|(was, is)| (was.as_str(), is.as_str())).collect();
    assert_eq!(found, expected, "{operator:?} in {source}");
}

#[test]
fn comparisons_become_their_neighbours() {
    let source = "fn f() { g(a < b, a <= b, a > b, a >= b, a == b, a != b); }";
    let expected = [
        ("a < b", "a <= b"),
        ("a <= b", "a < b"),
        ("a > b", "a >= b"),
        ("a >= b", "a > b"),
        ("a == b", "a != b"),
        ("a != b", "a == b"),
    ];
    assert_changes(Operator::Comparison, source, &expected);
}

#[test]
fn logic_keeps_its_sides_together_and_leaves_chains_with_patterns() {
    let source = "fn f() { let x = a && b || c; if let Some(y) = z && d {} }";
    let expected = [("a && b || c", "(a && b) && (c)"), ("a && b", "(a) || (b)")];
    assert_changes(Operator::Logic, source, &expected);
}

#[test]
fn sums_and_differences_change_places() {
    let source = "fn f() { let x = a + b - c; y += 1; z -= a; }";
    let expected = [
        ("a + b - c", "a + b + c"),
        ("a + b", "a - b"),
        ("y += 1", "y -= 1"),
        ("z -= a", "z += a"),
    ];
    assert_changes(Operator::Arithmetic, source, &expected);
}

#[test]
fn conditions_are_negated_link_by_link_and_equations_left_to_comparisons() {
    let source = "fn f() { if a.b() {} if a == b {} if let Some(x) = y && x.z() && c {} while d {} }";
    let expected = [("a.b()", "!(a.b())"), ("x.z()", "!(x.z())"), ("c", "!(c)")];
    assert_changes(Operator::Condition, source, &expected);
}

#[test]
fn guards_hold_always_or_never() {
    let source = "fn f() { match a { 1 if b => c(), _ => d() } }";
    assert_changes(Operator::Guard, source, &[("b", "true"), ("b", "false")]);
}

#[test]
fn answers_are_replaced_at_every_leaf() {
    let source = "fn f() -> bool { if a { return b; } match c { 1 => true, _ => d() } }";
    let expected = [
        ("b", "true"),
        ("b", "false"),
        ("true", "false"),
        ("d()", "true"),
        ("d()", "false"),
    ];
    assert_changes(Operator::Answer, source, &expected);
    let source = "fn f() -> Option<u8> { let x = y.map(|z| { return z; }); if a { None } else { Some(x) } }";
    assert_changes(Operator::Answer, source, &[("Some(x)", "None")]);
    let source = "fn f() -> Result<Option<u8>> { if a { return Err(b); } Ok(Some(1)) }";
    assert_changes(
        Operator::Answer,
        source,
        &[("Err(b)", "Ok(None)"), ("Ok(Some(1))", "Ok(None)")],
    );
    let source = "fn f() -> Result<bool, E> { g() }";
    assert_changes(Operator::Answer, source, &[("g()", "Ok(true)"), ("g()", "Ok(false)")]);
    let source = "fn f() -> bool { matches!(a, b) }";
    assert_changes(
        Operator::Answer,
        source,
        &[("matches!(a, b)", "true"), ("matches!(a, b)", "false")],
    );
    assert_changes(Operator::Answer, "fn f() -> bool { unreachable!() }", &[]);
}

#[test]
fn functions_that_may_only_fail_succeed_at_once() {
    let source = "impl A { fn f(&self) -> Result<()> { g()?; Ok(()) } fn h() -> Result<u8> { Ok(1) } }";
    assert_changes(Operator::Early, source, &[("", "return Ok(());")]);
    let sites = find(source).unwrap();
    let early = sites.iter().find(|site| site.operator == Operator::Early).unwrap();
    assert!(source[..early.span.start].ends_with("fn f(&self) -> Result<()> {"));
}

#[test]
fn calls_whose_value_nobody_takes_are_left_out() {
    let source = "fn f() { a(); b.c()?; let d = e(); g = h(); v.reserve(3); i() }";
    assert_changes(Operator::Call, source, &[("a();", ""), ("b.c()?;", "")]);
}

#[test]
fn numbers_that_bound_something_move_by_one() {
    let source = "fn f() { a(7); b.take(2); c[0]; for d in 1..e {} if g > 0xFu8 {} }";
    let expected = [
        ("2", "3"),
        ("2", "1"),
        ("0", "1"),
        ("1", "2"),
        ("1", "0"),
        ("0xFu8", "16u8"),
        ("0xFu8", "14u8"),
    ];
    assert_changes(Operator::Bound, source, &expected);
}

#[test]
fn tests_constants_patterns_types_macros_and_room_made_ahead_are_left_alone() {
    let source = "
        const A: usize = 1 + 2;
        static B: bool = 1 < 2;
        const fn c() -> bool { 1 < 2 }
        enum D { E = 1 + 2 }
        #[test] fn g() { h(); }
        #[cfg(test)] mod tests { fn i() -> bool { a < b } }
        fn j(k: [u8; 1 + 2]) { let l = [0; 3 + 4]; match m { 1..=5 => {} _ => {} } }
        fn n() { let o = Vec::with_capacity(a + 1); assert!(a < b); }
    ";
    let found = find(source).unwrap();
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(
        test_modules("#[cfg(test)] mod a; mod b; #[cfg(unix)] mod c;").unwrap(),
        ["a"]
    );
}
