//! The errors of filegroups and partitions (sql-docs, "Database Engine events and errors"; states as the SqlServerSimulator project has probed them on SQL
//! Server 2025).

engine::messages! { pub(crate) fn;
    /// 1709: TEXTIMAGE_ON without a column that it is for.
    text_space_without_column() = 1709, 16, 1, "Cannot use TEXTIMAGE_ON when a table has no text, ntext, image, varchar(max), nvarchar(max), non-FILESTREAM varbinary(max), xml or large CLR type columns.";
    /// 1826: a filegroup in a database of the system.
    no_filegroups_of_system_database(database: &str) = 1826, 16, 1, "User-defined filegroups are not allowed on \"{database}\".";
    /// 1907: DROP_EXISTING of an index that stands for a constraint, with another definition.
    index_does_not_match_constraint(index: &str) = 1907, 16, 1, "Cannot recreate index '{index}'. The new index definition does not match the constraint being enforced by the existing index.";
    /// 1921: ON names no filegroup.
    invalid_data_space(kind: &str, name: &str, state: u8) = 1921, 16, state, "Invalid {kind} '{name}' specified.";
    /// 1925: DROP_EXISTING that would leave the table without the order of its rows.
    clustered_becomes_nonclustered() = 1925, 16, 2, "Cannot convert a clustered index to a nonclustered index by using the DROP_EXISTING option. To change the index type from clustered to nonclustered, delete the clustered index, and then create a nonclustered index by using two separate statements.";
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
    /// 208: no partition function of that name.
    no_partition_function(name: &str) = 208, 16, 58, "Invalid object name '{name}'.";
    /// 1707: large values are partitioned with their rows.
    text_space_of_partitioned() = 1707, 16, 1, "Cannot specify TEXTIMAGE_ON filegroup for a partitioned table.";
    /// 1908: a unique index without the partitioning column.
    partitioning_column_not_in_key(column: &str, index: &str) = 1908, 16, 1, "Column '{column}' is partitioning column of the index '{index}'. Partition columns for a unique index must be a subset of the index key.";
    /// 1911: no column of that name to partition by.
    no_partitioning_column(column: &str) = 1911, 16, 1, "Column name '{column}' does not exist in the target table, index or view.";
    /// 2714: the name of a function or scheme is taken.
    partition_object_exists(name: &str) = 2714, 16, 60, "There is already an object named '{name}' in the database.";
    /// 4904: the partition that is switched in has rows.
    switch_into_partition_with_rows(partition: usize, target: &str) = 4904, 16, 1, "ALTER TABLE SWITCH statement failed. The specified partition {partition} of target table '{target}' must be empty.";
    /// 4905: the table that is switched in has rows.
    switch_into_table_with_rows(target: &str) = 4905, 16, 1, "ALTER TABLE SWITCH statement failed. The target table '{target}' must be empty.";
    /// 4911: a partitioned table without a partition.
    switch_without_partition(table: &str, state: u8) = 4911, 16, state, "Cannot specify a partitioned table without partition number in ALTER TABLE SWITCH statement. The table '{table}' is partitioned.";
    /// 4913: one table has a clustered index and the other none.
    switch_clustered(clustered: &str, index: &str, other: &str, state: u8) = 4913, 16, state, "ALTER TABLE SWITCH statement failed. The table '{clustered}' has clustered index '{index}' while the table '{other}' does not have clustered index.";
    /// 4938: partitions in different filegroups.
    switch_partition_filegroups(from: usize, source: &str, source_filegroup: &str, to: usize, target: &str, target_filegroup: &str) = 4938, 16, 1, "ALTER TABLE SWITCH statement failed. Partition {from} of table '{source}' is in filegroup '{source_filegroup}' and partition {to} of table '{target}' is in filegroup '{target_filegroup}'.";
    /// 4939: a table in another filegroup than a partition.
    switch_table_filegroup(table: &str, table_filegroup: &str, partition: usize, partitioned: &str, filegroup: &str) = 4939, 16, 1, "ALTER TABLE SWITCH statement failed. table '{table}' is in filegroup '{table_filegroup}' and partition {partition} of table '{partitioned}' is in filegroup '{filegroup}'.";
    /// 4940: tables in different filegroups.
    switch_table_filegroups(source: &str, source_filegroup: &str, target: &str, target_filegroup: &str) = 4940, 16, 1, "ALTER TABLE SWITCH statement failed. table '{source}' is in filegroup '{source_filegroup}' and table '{target}' is in filegroup '{target_filegroup}'.";
    /// 4942: columns with different names.
    switch_column_name(column: &str, ordinal: usize, source: &str, other: &str, target: &str) = 4942, 16, 1, "ALTER TABLE SWITCH statement failed because column '{column}' at ordinal {ordinal} in table '{source}' has a different name than the column '{other}' at the same ordinal in table '{target}'.";
    /// 4943: tables with different numbers of columns.
    switch_column_count(source: &str, count: usize, target: &str, other: usize) = 4943, 16, 1, "ALTER TABLE SWITCH statement failed because table '{source}' has {count} columns and table '{target}' has {other} columns.";
    /// 4944: columns of different types.
    switch_column_type(column: &str, own: &str, source: &str, other: &str, target: &str) = 4944, 16, 1, "ALTER TABLE SWITCH statement failed because column '{column}' has data type {own} in source table '{source}' which is different from its type {other} in target table '{target}'.";
    /// 4945: columns of different collations.
    switch_column_collation(column: &str, source: &str, target: &str) = 4945, 16, 1, "ALTER TABLE SWITCH statement failed because column '{column}' does not have the same collation in tables '{source}' and '{target}'.";
    /// 4947: an index of the target that the source does not have.
    switch_index(source: &str, index: &str, target: &str) = 4947, 16, 1, "ALTER TABLE SWITCH statement failed. There is no identical index in source table '{source}' for the index '{index}' in target table '{target}' .";
    /// 4950: a partition that the source does not have.
    switch_no_partition(number: i64, table: &str) = 4950, 16, 1, "ALTER TABLE SWITCH statement failed because partition number {number} does not exist in table '{table}'.";
    /// 4955: a table with itself.
    switch_same_table(source: &str, target: &str) = 4955, 16, 1, "ALTER TABLE SWITCH statement failed. The source table '{source}' and target table '{target}' are same.";
    /// 4966: computed columns with different definitions.
    switch_computed_column(column: &str, own: &str, source: &str, target: &str, other: &str) = 4966, 16, 1, "ALTER TABLE SWITCH statement failed. Computed column '{column}' defined as '{own}' in table '{source}' is different from the same column in table '{target}' defined as '{other}'.";
    /// 4967: foreign keys refer to the source.
    switch_referenced(source: &str, key: &str) = 4967, 16, 1, "ALTER TABLE SWITCH statement failed. SWITCH is not allowed because source table '{source}' contains primary key for constraint '{key}'.";
    /// 4968: a foreign key of the target that the source does not have.
    switch_foreign_key(target: &str, key: &str, source: &str) = 4968, 16, 1, "ALTER TABLE SWITCH statement failed. Target table '{target}' has foreign key for constraint '{key}' but source table '{source}' does not have corresponding key.";
    /// 4971: a CHECK of the target that the source does not have.
    switch_check(target: &str, check: &str, source: &str) = 4971, 16, 1, "ALTER TABLE SWITCH statement failed. Target table '{target}' has a column level check constraint '{check}' but the source table '{source}' does not have a corresponding constraint.";
    /// 4972: rows of the source that do not belong to the partition.
    switch_rows_outside(source: &str, target: &str) = 4972, 16, 1, "ALTER TABLE SWITCH statement failed. Check constraints or partition function of source table '{source}' allows values that are not allowed by check constraints or partition function on target table '{target}'.";
    /// 4973: rows of the partition of one table might not belong to that of the other.
    switch_range(from: usize, source: &str, to: usize, target: &str) = 4973, 16, 1, "ALTER TABLE SWITCH statement failed. Range defined by partition {from} in table '{source}' is not a subset of range defined by partition {to} in table '{target}'.";
    /// 4982: rows of the source might not belong to the target's partition.
    switch_check_range(source: &str, partition: usize, target: &str) = 4982, 16, 1, "ALTER TABLE SWITCH statement failed. Check constraints of source table '{source}' allow values that are not allowed by range defined by partition {partition} on target table '{target}'.";
    /// 4985: columns of which one may be NULL.
    switch_column_nullability(column: &str, source: &str, target: &str) = 4985, 16, 1, "ALTER TABLE SWITCH statement failed because column '{column}' does not have the same nullability attribute in tables '{source}' and '{target}'.";
    /// 7703: a function of several parameters.
    partition_function_parameters() = 7703, 16, 1, "Can not create RANGE partition function with multiple parameter types.";
    /// 7704: a type that no boundary can have.
    partition_function_type(sql_type: &str) = 7704, 16, 1, "The type '{sql_type}' is not valid for this operation.";
    /// 7705: a boundary of another type.
    boundary_not_converted(ordinal: usize) = 7705, 16, 2, "Could not implicitly convert range values type specified at ordinal {ordinal} to partition function parameter type.";
    /// 7706: a function that schemes use.
    partition_function_in_use(name: &str) = 7706, 16, 1, "Partition function '{name}' is being used by one or more partition schemes.";
    /// 7707: a scheme with too few filegroups.
    too_few_filegroups(function: &str, scheme: &str) = 7707, 16, 1, "The associated partition function '{function}' generates more partitions than there are file groups mentioned in the scheme '{scheme}'.";
    /// 7708: a boundary twice.
    duplicate_boundaries(first: usize, second: usize) = 7708, 16, 1, "Duplicate range boundary values are not allowed in partition function boundary values list. Partition boundary values at ordinal {first} and {second} are equal.";
    /// 7710: SPLIT without a filegroup for the new partition.
    no_next_used(scheme: &str) = 7710, 16, 1, "Warning: The partition scheme '{scheme}' does not have any next used filegroup. Partition scheme has not been changed.";
    /// 7711: a partition twice in one list.
    partition_listed_twice() = 7711, 16, 2, "The PARTITIONS option was specified more than once for the table, or for at least one of its partitions if the table is partitioned.";
    /// 7715: MERGE of a value that no boundary equals.
    no_such_boundary() = 7715, 16, 1, "The specified partition range value could not be found.";
    /// 7717: a scheme that tables are in.
    partition_scheme_in_use(name: &str) = 7717, 16, 1, "The partition scheme \"{name}\" is currently being used to partition one or more tables.";
    /// 7719: too many partitions.
    too_many_partitions() = 7719, 16, 1, "CREATE/ALTER partition function failed as only a maximum of 15000 partitions can be created.";
    /// 7720: a boundary that is too long for its type.
    boundary_truncated(ordinal: usize) = 7720, 16, 1, "Data truncated when converting range values to the partition function parameter type. The range value at ordinal {ordinal} requires data truncation.";
    /// 7721: SPLIT at a boundary.
    boundary_exists(ordinal: usize) = 7721, 16, 1, "Duplicate range boundary values are not allowed in partition function boundary values list. The boundary value being added is already present at ordinal {ordinal} of the boundary value list.";
    /// 7722: a partition that is not there.
    invalid_partition_number(number: i64, table: &str, count: usize) = 7722, 16, 2, "Invalid partition number {number} specified for table '{table}', partition number can range from 1 to {count}.";
    /// 7722 of REBUILD, REORGANIZE, and of ON PARTITIONS.
    invalid_partition_of(number: i64, kind: &str, name: &str, count: usize) = 7722, 16, 2, "Invalid partition number {number} specified for {kind} '{name}', partition number can range from 1 to {count}.";
    /// 7729 of REBUILD, REORGANIZE, and of ON PARTITIONS.
    partition_of_whole(statement: &str, kind: &str, name: &str) = 7729, 16, 1, "Cannot specify partition number in the {statement} {kind} statement as the {kind} '{name}' is not partitioned.";
    /// 7723: ALL with several filegroups.
    all_to_several_filegroups() = 7723, 16, 1, "Only a single filegroup can be specified while creating partition scheme using option ALL to specify all the filegroups.";
    /// 7724: a partitioning column that is computed when it is read.
    partitioning_column_not_persisted(column: &str, table: &str) = 7724, 16, 1, "Computed column cannot be used as a partition key if it is not persisted. Partition key column '{column}' in table '{table}' is not persisted.";
    /// 7726: a partitioning column of another type than the function's.
    partitioning_column_type(column: &str, own: &str, function: &str, wanted: &str) = 7726, 16, 1, "Partition column '{column}' has data type {own} which is different from the partition function '{function}' parameter data type {wanted}.";
    /// 7727: a partitioning column of another collation.
    partitioning_column_collation(column: &str, function: &str) = 7727, 16, 1, "Collation of partition column '{column}' does not match collation of corresponding parameter in partition function '{function}'.";
    /// 7728: a range of partitions that ends before it begins.
    invalid_partition_range(first: i64, last: i64) = 7728, 16, 1, "Invalid partition range: {first} TO {last}. Lower bound must not be greater than upper bound.";
    /// 7729: partitions of a table that has none.
    truncate_partitions_of_whole(table: &str) = 7729, 16, 3, "Cannot specify partition number in the truncate table statement as the table '{table}' is not partitioned.";
    /// 15151: no function or scheme of that name.
    no_partition_object(verb: &str, kind: &str, name: &str) = 15151, 16, 1, "Cannot {verb} the partition {kind} '{name}', because it does not exist or you do not have permission.";
}
