//! The arms of `match`, for the rule that a match over the operators of a plan names each of them.

/// An arm of a `match`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arm {
    /// Line where its pattern begins, from 1.
    pub line: usize,
    /// The pattern with its guard.
    pub pattern: String,
}

impl Arm {
    /// Whether its pattern takes whatever the arms before it leave: `_`, or a name alone. A guard does not change that.
    pub fn takes_the_rest(&self) -> bool {
        let pattern = self.pattern.split(" if ").next().unwrap_or_default().trim();
        let is_word = |text: &str| {
            text.chars()
                .all(|one| one.is_lowercase() || one.is_numeric() || one == '_')
        };
        !pattern.is_empty() && is_word(pattern.trim_start_matches("mut "))
    }
}

/// Every `match` of a source, each with its arms. `code` is [`crate::blanked`].
pub fn matches(code: &str) -> Vec<Vec<Arm>> {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let bytes = code.as_bytes();
    let begins = code.match_indices("match ").map(|(at, _)| at);
    let begins = begins.filter(|&at| !is_word(bytes.get(at.wrapping_sub(1))));
    begins.filter_map(|at| arms(code, body(bytes, at)?)).collect()
}

/// The brace that begins the arms of a `match` at `at`.
fn body(bytes: &[u8], at: usize) -> Option<usize> {
    let mut place = at;
    loop {
        match bytes.get(place)? {
            b'(' | b'[' => place = closing(bytes, place)?,
            b'{' => return Some(place),
            b';' | b'}' => return None,
            _ => {}
        }
        place += 1;
    }
}

/// The bracket that closes the one at `at`.
fn closing(bytes: &[u8], at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, byte) in bytes.iter().enumerate().skip(at) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(place);
        }
    }
    None
}

/// The arms between the brace at `open` and the one that closes it.
fn arms(code: &str, open: usize) -> Option<Vec<Arm>> {
    let bytes = code.as_bytes();
    let end = closing(bytes, open)?;
    let (mut found, mut place) = (Vec::new(), open + 1);
    while let Some(arrow) = arrow(bytes, place, end) {
        let pattern = code.get(place..arrow)?;
        let begin = place + pattern.len() - pattern.trim_start().len();
        found.push(Arm {
            line: 1 + code.get(..begin)?.matches('\n').count(),
            pattern: pattern.split_whitespace().collect::<Vec<_>>().join(" "),
        });
        place = behind_arm(bytes, arrow + "=>".len(), end)?;
    }
    Some(found)
}

/// The next `=>` that is in no brackets.
fn arrow(bytes: &[u8], from: usize, end: usize) -> Option<usize> {
    let mut place = from;
    while place < end {
        match bytes.get(place)? {
            b'(' | b'[' | b'{' => place = closing(bytes, place)?,
            b'=' if bytes.get(place + 1) == Some(&b'>') => return Some(place),
            _ => {}
        }
        place += 1;
    }
    None
}

/// Where the next arm begins: behind the comma, or behind a block that ends without one.
fn behind_arm(bytes: &[u8], from: usize, end: usize) -> Option<usize> {
    let blank = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_whitespace);
    let mut place = from;
    while blank(place) {
        place += 1;
    }
    if bytes.get(place) == Some(&b'{') {
        place = closing(bytes, place)? + 1;
        while blank(place) {
            place += 1;
        }
        let goes_on = matches!(bytes.get(place), Some(b'.' | b'?' | b','));
        if !goes_on {
            return Some(place);
        }
    }
    while place < end {
        match bytes.get(place)? {
            b'(' | b'[' | b'{' => place = closing(bytes, place)?,
            b',' => return Some(place + 1),
            _ => {}
        }
        place += 1;
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_are_read_through_blocks_calls_and_nested_matches() {
        let code = "fn x() { match node {\n    Node::A(_) => { 1 }\n    Node::B { x, .. } if x > 0 => f(|y| match y { _ => 2 }),\n    other => 3,\n} }";
        let found = matches(code);
        let outer: Vec<(usize, bool)> = found[0].iter().map(|arm| (arm.line, arm.takes_the_rest())).collect();
        assert_eq!(outer, [(2, false), (3, false), (4, true)]);
        assert_eq!(found[0][1].pattern, "Node::B { x, .. } if x > 0");
        assert_eq!(found[1].len(), 1);
        assert!(found[1][0].takes_the_rest());
    }

    #[test]
    fn a_guard_does_not_make_a_pattern_name_what_it_takes() {
        let arm = |pattern: &str| Arm {
            line: 1,
            pattern: pattern.to_owned(),
        };
        assert!(arm("_").takes_the_rest());
        assert!(arm("_ if is_so").takes_the_rest());
        assert!(arm("mut rest").takes_the_rest());
        assert!(!arm("Node::Scan(scan)").takes_the_rest());
        assert!(!arm("None").takes_the_rest());
    }
}
