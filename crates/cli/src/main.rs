//! The `vlflab` binary.

fn main() {}
