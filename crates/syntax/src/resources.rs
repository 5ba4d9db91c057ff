//! The resources that parsing uses: time, stack, memory. The caller supplies the limits for all three.

/// The accountants that a parser asks.
pub trait Resources {
    /// Spends a step of time. False when the text is not to be parsed to its end: the client has cancelled.
    fn spend_step(&mut self) -> bool;

    /// Whether there is stack to go one level deeper.
    fn has_stack(&self) -> bool;

    /// Asks that the tree may take so many bytes in all. False when there is no memory for it.
    fn grow_tree(&mut self, bytes: u64) -> bool;
}
