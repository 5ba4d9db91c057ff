//! A text whose hash is taken once: a script of a megabyte is looked for at each of its statements.
//!
//! Invariant: equal texts of one process have equal digests.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, LazyLock};

/// The seed of digests: nobody outside this process can choose texts whose digests collide.
static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// A text that entries are found by.
#[derive(Clone, Debug)]
pub(crate) struct DigestedText {
    text: Arc<str>,
    digest: u64,
}

impl DigestedText {
    /// The text itself.
    pub(crate) fn text(&self) -> &Arc<str> {
        &self.text
    }
}

impl<T: Into<Arc<str>>> From<T> for DigestedText {
    fn from(text: T) -> DigestedText {
        let text = text.into();
        DigestedText {
            digest: SEED.hash_one(&*text),
            text,
        }
    }
}

impl PartialEq for DigestedText {
    fn eq(&self, other: &DigestedText) -> bool {
        self.digest == other.digest && (Arc::ptr_eq(&self.text, &other.text) || self.text == other.text)
    }
}

impl Eq for DigestedText {}

impl Hash for DigestedText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.digest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_equal_by_their_characters_and_hashed_alike() {
        let one = DigestedText::from("select 1");
        let same = DigestedText::from(String::from("select 1"));
        let other = DigestedText::from("select 2");
        assert_eq!(one, one.clone());
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert_eq!(SEED.hash_one(&one), SEED.hash_one(&same));
    }

    /// A script of 20,000 statements was hashed whole at each of them: it took the square of its length.
    #[test]
    fn a_text_of_any_length_costs_a_lookup_eight_bytes() {
        #[derive(Default)]
        struct Counting(usize);
        impl Hasher for Counting {
            fn finish(&self) -> u64 {
                0
            }
            fn write(&mut self, bytes: &[u8]) {
                self.0 += bytes.len();
            }
        }
        for repeats in [1, 20_000] {
            let text = DigestedText::from("set @a = 1 ".repeat(repeats));
            let mut counting = Counting::default();
            text.hash(&mut counting);
            assert_eq!(counting.0, 8);
        }
    }
}
