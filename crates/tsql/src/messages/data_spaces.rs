//! The errors of filegroups (sql-docs, "Database Engine events and errors"; states as the SqlServerSimulator project has probed them on SQL
//! Server 2025).

engine::messages! { pub(crate) fn;
    /// 1709: TEXTIMAGE_ON without a column that it is for.
    text_space_without_column() = 1709, 16, 1, "Cannot use TEXTIMAGE_ON when a table has no text, ntext, image, varchar(max), nvarchar(max), non-FILESTREAM varbinary(max), xml or large CLR type columns.";
    /// 1826: a filegroup in a database of the system.
    no_filegroups_of_system_database(database: &str) = 1826, 16, 1, "User-defined filegroups are not allowed on \"{database}\".";
    /// 1907: DROP_EXISTING of an index that stands for a constraint, with another definition.
    index_does_not_match_constraint(index: &str) = 1907, 16, 1, "Cannot recreate index '{index}'. The new index definition does not match the constraint being enforced by the existing index.";
    /// 1921: ON names no filegroup.
    invalid_data_space(kind: &str, name: &str) = 1921, 16, 1, "Invalid {kind} '{name}' specified.";
    /// 1925: DROP_EXISTING that would leave the table without the order of its rows.
    clustered_becomes_nonclustered() = 1925, 16, 2, "Cannot convert a clustered index to a nonclustered index by using the DROP_EXISTING option. To change the index type from clustered to nonclustered, delete the clustered index, and then create a nonclustered index by using two separate statements.";
    /// 3740: something of the table is in a filegroup that is READ_ONLY.
    drop_in_read_only_filegroup(kind: &str, name: &str) = 3740, 16, 1, "Cannot drop the {kind} '{name}' because at least part of the table resides on a read-only filegroup.";
    /// 5012: PRIMARY is called so.
    primary_filegroup_keeps_its_name() = 5012, 16, 1, "The name of the primary filegroup cannot be changed.";
    /// 5014: no filegroup of that name.
    no_such_filegroup(name: &str, database: &str, state: u8) = 5014, 16, state, "The filegroup '{name}' does not exist in database '{database}'.";
    /// 5035: the name is taken.
    filegroup_exists(name: &str, state: u8) = 5035, 16, state, "Filegroup '{name}' already exists in this database. Specify a different name or remove the conflicting filegroup if it is empty.";
    /// 5042: the filegroup has files, or something is to be kept there.
    filegroup_not_empty(name: &str, state: u8) = 5042, 16, state, "The filegroup '{name}' cannot be removed because it is not empty.";
    /// 5045: the filegroup is so already.
    filegroup_property_is_set(property: &str, state: u8) = 5045, 16, state, "The filegroup already has the '{property}' property set.";
    /// 5047: the catalog is in PRIMARY.
    primary_filegroup_stays_writable() = 5047, 16, 1, "Cannot change the READONLY property of the PRIMARY filegroup.";
    /// 5050: a filegroup without files has no properties.
    filegroup_is_empty(name: &str) = 5050, 16, 1, "Cannot change the properties of empty filegroup '{name}'. The filegroup must contain at least one file.";
    /// 5051: DEFAULT is a word of ON.
    filegroup_named_default() = 5051, 16, 1, "Cannot have a filegroup with the name 'DEFAULT'.";
    /// 7999: DROP_EXISTING without an index that exists.
    no_index_to_replace(index: &str, table: &str) = 7999, 16, 9, "Could not find any index named '{index}' for table '{table}'.";
}
