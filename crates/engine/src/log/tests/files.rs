//! Growth, shrinking, several files, discovery.
use super::*;
