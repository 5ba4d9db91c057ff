//! The errors of what objects depend on.

engine::messages! { pub(crate) fn;
    /// 2020: a module of which not every column that it uses could be found. It comes behind the rows that were.
    dependencies_not_whole(entity: &str) = 2020, 16, 1, "The dependencies reported for entity \"{entity}\" might not include references to all columns. This is either because the entity references an object that does not exist or because of an error in one or more statements in the entity.  Before rerunning the query, ensure that there are no errors in the entity and that all objects referenced by the entity exist.";
}
