//! The only door to files: a trait, the operating system behind it, and a simulated disk with faults.
