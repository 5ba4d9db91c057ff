//! Growth, shrinking, several files, discovery.
