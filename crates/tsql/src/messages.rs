//! The errors of binding and executing T-SQL: SQL Server's number, severity, state and text.
//!
//! The table has a row for each message, and each row is a function. Texts follow Microsoft's list of "Database Engine events and errors"
//! (sql-docs). The engine's own errors are in `engine::error`, syntax errors in [`syntax::error`].

mod application_locks;
mod bulk_files;
mod clr;
mod cursors;
mod data_spaces;
mod dependencies;
mod indexed_views;
mod json;
mod large_objects;
mod log_marks;
mod security;
mod standalone;
mod temporal;

pub(crate) use application_locks::*;
pub(crate) use bulk_files::*;
pub(crate) use clr::*;
pub(crate) use cursors::*;
pub(crate) use data_spaces::*;
pub(crate) use dependencies::*;
pub(crate) use indexed_views::*;
pub(crate) use json::*;
pub(crate) use large_objects::*;
pub(crate) use log_marks::*;
pub(crate) use security::*;
pub(crate) use standalone::*;
pub(crate) use temporal::*;

use engine::error::Error;
use engine::types::SqlType;
use syntax::error::ParseError;

engine::messages! { pub(crate) fn;
    /// 103: a name of a savepoint that the client's protocol gives.
    transaction_name_too_long(name: &str) = 103, 15, 30, "The identifier that starts with '{name}' is too long. Maximum length is 32.";
    /// 214: a separator that is not one character.
    separator_not_one_character() = 214, 16, 11, "Procedure expects parameter 'separator' of type 'nchar(1)/nvarchar(1)'.";
    /// 265: a column that PIVOT or UNPIVOT makes is there already.
    pivot_name_conflict(name: &str, operator: &str) = 265, 16, 1, "The column name \"{name}\" specified in the {operator} operator conflicts with the existing column name in the {operator} argument.";
    /// 7609: a statement of full-text search.
    full_text_missing() = 7609, 17, 5, "Full-Text Search is not installed, or a full-text component cannot be loaded.";
    /// 473: a value of PIVOT that its column cannot have.
    pivot_value_incorrect(value: &str) = 473, 16, 1, "The incorrect value \"{value}\" is supplied in the PIVOT operator.";
    /// 4199: an argument that is out of range.
    argument_value_invalid(value: &str, position: usize, function: &str) = 4199, 16, 1, "Argument value {value} is invalid for argument {position} of {function} function.";
    /// 9803: text that is not base64.
    invalid_base64() = 9803, 16, 20, "Invalid data for type \"Base64Decode\".";
    /// 258: a method of a type that has none.
    no_methods(sql_type: &str) = 258, 15, 1, "Cannot call methods on {sql_type}.";
    /// 2389: `value()` of what may be several items.
    value_not_singleton() = 2389, 16, 1, "XQuery [value()]: 'value()' requires a singleton (or empty sequence), found operand of type 'xdt:untypedAtomic *'";
    /// 8137: a method that changes a value where a value has to stand.
    mutator_misplaced(method: &str) = 8137, 16, 1, "Incorrect use of the XML data type method '{method}'. A non-mutator method is expected in this context.";
    /// 6314: a schema collection that is not there.
    no_collection(name: &str) = 6314, 16, 1, "Collection specified does not exist in metadata : '{name}'";
    /// 6328: a schema collection that something is declared with.
    collection_in_use(name: &str, user: &str) = 6328, 16, 1, "Specified collection '{name}' cannot be dropped because it is used by object '{user}'.";
    /// 6347: a schema collection that is not there to be altered.
    no_collection_to_alter(name: &str) = 6347, 16, 1, "Specified collection '{name}' cannot be altered because it does not exist or you do not have permission.";
    /// 1023: an argument of no use to a function.
    invalid_parameter(place: usize, function: &str) = 1023, 15, 1, "Invalid parameter {place} specified for {function}.";
    /// 8727: a fraction of rows outside of 0 to 1.
    percentile_out_of_range() = 8727, 16, 1, "Input parameter of percentile function is outside of range [0, 1].";
    /// 10751: several keys in WITHIN GROUP.
    within_group_of_several(function: &str) = 10751, 15, 1, "The ORDER BY in WITHIN GROUP clause of '{function}' function must have exactly one expression.";
    /// 10753: no OVER.
    needs_over(function: &str) = 10753, 15, 3, "The function '{function}' must have an OVER clause.";
    /// 10754: no WITHIN GROUP.
    needs_within_group(function: &str) = 10754, 15, 1, "The function '{function}' must have a WITHIN GROUP clause.";
    /// 10758: an ORDER BY in OVER beside that of WITHIN GROUP.
    percentile_ordered_twice(function: &str) = 10758, 15, 1, "The function '{function}' may not have ORDER BY in OVER clause.";
    /// 2374: rows of values.
    nodes_of_values() = 2374, 16, 1, "XQuery [nodes()]: A node or set of nodes is required for 'nodes()'";
    /// 8172: a query that is computed.
    method_argument_not_constant(place: usize, method: &str) = 8172, 16, 1, "The argument {place} of the XML data type method \"{method}\" must be a string literal.";
    /// 6802: a column of FOR XML EXPLICIT whose name has another form.
    explicit_column_name(name: &str) = 6802, 16, 1, "FOR XML EXPLICIT query contains the invalid column name '{name}'. Use the TAGNAME!TAGID!ATTRIBUTENAME[!..] format where TAGID is a positive integer.";
    /// 6803: a tag that is zero, negative or not a number.
    explicit_tag_column() = 6803, 16, 1, "FOR XML EXPLICIT requires the first column to hold positive integers that represent XML tag IDs.";
    /// 6804: a parent that is negative or not a number.
    explicit_parent_column() = 6804, 16, 1, "FOR XML EXPLICIT requires the second column to hold NULL or nonnegative integers that represent XML parent tag IDs.";
    /// 6806: a tag that no column names.
    explicit_tag_undeclared(number: i64) = 6806, 16, 1, "Undeclared tag ID {number} is used in a FOR XML EXPLICIT query.";
    /// 6807: a parent that no column names.
    explicit_parent_undeclared(number: i64) = 6807, 16, 1, "Undeclared parent tag ID {number} is used in a FOR XML EXPLICIT query.";
    /// 6812: a tag with two names.
    explicit_tag_redeclared(number: i64, name: &str, other: &str) = 6812, 16, 1, "XML tag ID {number} that was originally declared as '{name}' is being redeclared as '{other}'.";
    /// 6818: CDATA with a name.
    explicit_cdata_named(name: &str) = 6818, 16, 1, "In the FOR XML EXPLICIT clause, CDATA attributes must be unnamed in '{name}'.";
    /// 6820: the first columns are not Tag and Parent.
    explicit_first_columns(place: usize, wanted: &str, name: &str) = 6820, 16, 1, "FOR XML EXPLICIT requires column {place} to be named '{wanted}' instead of '{name}'.";
    /// 6824: a directive that there is not.
    explicit_directive(directive: &str) = 6824, 16, 1, "In the FOR XML EXPLICIT clause, mode '{directive}' in a column name is invalid.";
    /// 6825: ELEMENTS of EXPLICIT.
    explicit_elements() = 6825, 16, 1, "ELEMENTS option is only allowed in RAW, AUTO, and PATH modes of FOR XML.";
    /// 6833: a parent that is not open.
    explicit_parent_closed(number: i64) = 6833, 16, 1, "Parent tag ID {number} is not among the open tags. FOR XML EXPLICIT requires parent tags to be opened first. Check the ordering of the result set.";
    /// 6800: FOR XML AUTO of no table.
    xml_auto_without_table() = 6800, 16, 1, "FOR XML AUTO requires at least one table for generating XML tags. Use FOR XML RAW or add a FROM clause with a table name.";
    /// 6809: a column of FOR XML without a name.
    xml_unnamed() = 6809, 16, 1, "Unnamed tables cannot be used as XML identifiers as well as unnamed columns cannot be used for attribute names. Name unnamed columns/tables using AS in the SELECT statement.";
    /// 6810: an attribute twice.
    xml_attribute_twice(name: &str) = 6810, 16, 1, "Column name '{name}' is repeated. The same attribute cannot be generated more than once on the same XML tag.";
    /// 6819: FOR XML where no rows are sent.
    for_xml_not_allowed(statement: &str) = 6819, 16, 1, "The FOR XML clause is not allowed in a {statement} statement.";
    /// 6829: bytes that FOR XML would give an address.
    xml_binary_as_address(name: &str) = 6829, 16, 1, "FOR XML EXPLICIT and RAW modes currently do not support addressing binary data as URLs in column '{name}'. Remove the column, or use the BINARY BASE64 mode, or create the URL directly using the 'dbobject/TABLE[@PK1=\"V1\"]/@COLUMN' syntax.";
    /// 6852: an attribute behind content.
    xml_attribute_behind_content(name: &str) = 6852, 16, 1, "Attribute-centric column '{name}' must not come after a non-attribute-centric sibling in XML hierarchy in FOR XML PATH.";
    /// 6864: attributes, and no element that has them.
    xml_attributes_without_element() = 6864, 16, 1, "Row tag omission (empty row tag name) cannot be used with attribute-centric FOR XML serialization.";
    /// 13600: FOR JSON AUTO of no table.
    json_auto_without_table() = 13600, 16, 1, "FOR JSON AUTO requires at least one table for generating JSON objects. Use FOR JSON PATH or add a FROM clause with a table name.";
    /// 13605: what FOR JSON has no name for.
    json_unnamed() = 13605, 16, 1, "Column expressions and data sources without names or aliases cannot be formatted as JSON text using FOR JSON clause. Add alias to the unnamed column or table.";
    /// 13601: two columns of one path of FOR JSON.
    json_name_conflict(name: &str) = 13601, 16, 1, "Property '{name}' cannot be generated in JSON output due to a conflict with another column name or alias. Use different names and aliases for each column in SELECT list.";
    /// 13602: FOR JSON where no rows are sent.
    for_json_not_allowed(statement: &str) = 13602, 16, 1, "The FOR JSON clause is not allowed in a {statement} statement.";
    /// 13611: OPENJSON of a scalar.
    json_not_openable() = 13611, 16, 1, "Value referenced by JSON path is not an array or object and cannot be opened with OPENJSON.";
    /// 13618: AS JSON of another type.
    as_json_type() = 13618, 16, 1, "AS JSON option can be specified only for column of nvarchar(max) type in WITH clause.";
    /// 13619: a path that leads to the whole text.
    unsupported_json_path(position: usize, function: &str) = 13619, 16, 1, "Unsupported JSON path found in argument {position} of {function}.";
    /// 13620: ROOT without an object around it.
    root_without_wrapper() = 13620, 16, 1, "ROOT option and WITHOUT_ARRAY_WRAPPER option cannot be used together in FOR JSON. Remove one of these options.";
    /// 13622: `append` to something other than an array.
    no_json_array() = 13622, 16, 1, "Array cannot be found in the specified JSON path.";
    /// 13628: a member without a name.
    json_name_null() = 13628, 16, 1, "JSON_OBJECT argument 'key name' cannot be NULL.";
    /// 5362: a window that no WINDOW clause has.
    window_undefined(name: &str) = 5362, 15, 3, "Window '{name}' is undefined.";
    /// 5363: two of PARTITION BY, ORDER BY or the frame.
    window_element_twice() = 5363, 15, 1, "Window element in OVER clause can not also be specified in WINDOW clause.";
    /// 5364: a window that goes on from itself.
    window_cycle() = 5364, 15, 1, "Cyclic window references are not permitted.";
    /// 5365: two windows of one name.
    window_twice() = 5365, 15, 1, "Duplicate window definitions are not permitted.";
    /// 5373: arguments of GENERATE_SERIES of several types, or of one that it has not.
    series_types_differ() = 5373, 16, 2, "All the input parameters should be of the same type. Supported types are tinyint, smallint, int, bigint, decimal and numeric.";
    /// 8167: columns of UNPIVOT of several types.
    unpivot_type_conflict(column: &str) = 8167, 16, 1, "The type of column \"{column}\" conflicts with the type of other columns specified in the UNPIVOT list.";
    /// 8748: whether there is an ordinal decides what columns there are.
    ordinal_not_constant() = 8748, 16, 1, "The enable_ordinal argument for string_split only supports constant values (not variables or columns).";
    /// 102 for words that a later phase refuses.
    incorrect_syntax_near(word: &str) = 102, 15, 1, "Incorrect syntax near '{word}'.";
    /// 109: INSERT lists more columns than VALUES has.
    more_columns_than_values() = 109, 15, 1, "There are more columns in the INSERT statement than values specified in the VALUES clause. The number of values in the VALUES clause must match the number of columns specified in the INSERT statement.";
    /// 110: INSERT lists fewer columns than VALUES has.
    fewer_columns_than_values() = 110, 15, 1, "There are fewer columns in the INSERT statement than values specified in the VALUES clause. The number of values in the VALUES clause must match the number of columns specified in the INSERT statement.";
    /// 120: the query of an INSERT has too few columns.
    select_list_too_short() = 120, 15, 1, "The select list for the INSERT statement contains fewer items than the insert list. The number of SELECT values must match the number of INSERT columns.";
    /// 121: the query of an INSERT has too many columns.
    select_list_too_long() = 121, 15, 1, "The select list for the INSERT statement contains more items than the insert list. The number of SELECT values must match the number of INSERT columns.";
    /// 131: a length beyond that of any type.
    length_too_large(length: u32, name: &str) = 131, 15, 3, "The size ({length}) given to the type '{name}' exceeds the maximum allowed for any data type (8000).";
    /// 133: GOTO to a label that does not exist.
    label_not_declared(label: &str) = 133, 15, 1, "A GOTO statement references the label '{label}' but the label has not been declared.";
    /// 134: a variable declared twice.
    variable_already_declared(name: &str) = 134, 15, 2, "The variable name '{name}' has already been declared. Variable names must be unique within a query batch or stored procedure.";
    /// 137: a variable that was never declared.
    variable_not_declared(name: &str) = 137, 15, 2, "Must declare the scalar variable \"{name}\".";
    /// 141: assignments and columns in one select list.
    assignment_with_retrieval() = 141, 15, 1, "A SELECT statement that assigns a value to a variable must not be combined with data-retrieval operations.";
    /// 128: a column in a default.
    column_in_default(name: &str) = 128, 15, 1, "The name \"{name}\" is not permitted in this context. Valid expressions are constants, constant expressions, and (in some contexts) variables. Column names are not permitted.";
    /// 130: an aggregate over an aggregate or a subquery.
    aggregate_of_aggregate() = 130, 15, 1, "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.";
    /// 144: GROUP BY an aggregate or a subquery.
    aggregate_in_group_by() = 144, 15, 1, "Cannot use an aggregate or a subquery in an expression used for the group by list of a GROUP BY clause.";
    /// 147: an aggregate in WHERE.
    aggregate_in_where() = 147, 15, 1, "An aggregate may not appear in the WHERE clause unless it is in a subquery contained in a HAVING clause or a select list, and the column being aggregated is an outer reference.";
    /// 2733: what no function returns.
    invalid_return_type(name: &str) = 2733, 16, 1, "The {name} data type is invalid for return values.";
    /// 293: text that is not an amount of money.
    text_to_small_money() = 293, 16, 0, "Cannot convert char value to smallmoney. The char value has incorrect syntax.";
    /// 4101: an aggregate of the left side of an APPLY on its right side.
    aggregate_in_apply() = 4101, 15, 1, "Aggregates on the right side of an APPLY cannot reference columns from the left side.";
    /// 8124: an aggregate over columns of its own query and of one around it.
    aggregate_of_several_queries() = 8124, 16, 1, "Multiple columns are specified in an aggregated expression containing an outer reference. If an expression being aggregated contains an outer reference, then that outer reference must be the only column referenced in the expression.";
    /// 156 for words that a later phase refuses.
    incorrect_syntax_near_keyword(word: &str) = 156, 15, 1, "Incorrect syntax near the keyword '{word}'.";
    /// 174: a wrong number of arguments for a function that takes exactly so many.
    function_requires(name: &str, count: usize) = 174, 15, 1, "The {name} function requires {count} argument(s).";
    /// 286: `inserted` and `deleted` as targets.
    trigger_tables_not_updatable() = 286, 16, 1, "The logical tables INSERTED and DELETED cannot be updated.";
    /// 331
    output_into_triggers(table: &str) = 331, 15, 1, "The target table '{table}' of the OUTPUT INTO clause cannot have any enabled triggers.";
    /// 334
    output_with_triggers(table: &str) = 334, 15, 1, "The target table '{table}' of the DML statement cannot have any enabled triggers if the statement contains an OUTPUT clause without INTO clause.";
    /// 1787: an action of a foreign key beside an INSTEAD OF trigger.
    cascade_with_instead_of(key: &str, table: &str) = 1787, 16, 0, "Cannot define foreign key constraint '{key}' with cascaded DELETE or UPDATE on table '{table}' because the table has an INSTEAD OF DELETE or UPDATE TRIGGER defined on it.";
    /// 1943
    reorganize_without_page_locks(index: &str, table: &str) = 1943, 16, 1, "The index \"{index}\" on table \"{table}\" cannot be reorganized because page level locking is disabled.";
    /// 1094
    schema_of_database_trigger() = 1094, 15, 1, "Cannot specify a schema name as a prefix to the trigger name for database and server level triggers.";
    /// 1088
    cannot_find_trigger(name: &str) = 1088, 16, 120, "Cannot find the object \"{name}\" because it does not exist or you do not have permissions.";
    /// 2103
    trigger_schema(verb: &str, name: &str) = 2103, 15, 1, "Cannot {verb} trigger '{name}' because its schema is different from the schema of the target table or view.";
    /// 2108
    trigger_in_other_database(name: &str) = 2108, 15, 1, "Cannot create trigger on '{name}' as the target is not in the current database.";
    /// 2110
    trigger_of_other_object(name: &str, parent: &str) = 2110, 15, 1, "Cannot alter trigger '{name}' on '{parent}' because this trigger does not belong to this object. Specify the correct trigger name or the correct target object name.";
    /// 2111
    instead_of_exists(name: &str, kind: &str, parent: &str, action: &str) = 2111, 16, 1, "Cannot create trigger '{name}' on {kind} '{parent}' because an INSTEAD OF {action} trigger already exists on this object.";
    /// 2112
    instead_of_with_check_option(name: &str, view: &str) = 2112, 16, 1, "Cannot create trigger '{name}' on view '{view}' because the view is defined with CHECK OPTION.";
    /// 2113
    instead_of_with_cascade(name: &str, table: &str) = 2113, 16, 1, "Cannot create INSTEAD OF DELETE or INSTEAD OF UPDATE TRIGGER '{name}' on table '{table}'. This is because the table has a FOREIGN KEY with cascading DELETE or UPDATE.";
    /// 3609, state 2: in a trigger of the database.
    transaction_ended_in_definition_trigger() = 3609, 16, 2, "The transaction ended in the trigger. The batch has been aborted.";
    /// 3609
    transaction_ended_in_trigger() = 3609, 16, 1, "The transaction ended in the trigger. The batch has been aborted.";
    /// 3616
    error_in_trigger() = 3616, 16, 1, "An error was raised during trigger execution. The batch has been aborted and the user transaction, if any, has been rolled back.";
    /// 5316
    merge_with_some_instead_of(table: &str) = 5316, 16, 1, "The target '{table}' of the MERGE statement has an INSTEAD OF trigger on some, but not all, of the actions specified in the MERGE statement. In a MERGE statement, if any action has an enabled INSTEAD OF trigger on the target, then all actions must have enabled INSTEAD OF triggers.";
    /// 5318
    merge_of_one_name() = 5318, 16, 1, "In a MERGE statement, the source and target cannot have the same name or alias. Use different aliases for the source and target to ensure that they have unique names in the MERGE statement.";
    /// 5333: a column of the target in a clause that has none.
    merge_without_target(name: &str) = 5333, 16, 1, "The identifier '{name}' cannot be bound. Only source columns and columns in the clause scope are allowed in the 'WHEN NOT MATCHED' clause of a MERGE statement.";
    /// 5334: a column of the source in a clause that has none.
    merge_without_source(name: &str) = 5334, 16, 1, "The identifier '{name}' cannot be bound. Only target columns and columns in the clause scope are allowed in the 'WHEN NOT MATCHED BY SOURCE' clause of a MERGE statement.";
    /// 8672
    merge_changes_row_twice() = 8672, 16, 1, "The MERGE statement attempted to UPDATE or DELETE the same row more than once. This happens when a target row matches more than one source row. A MERGE statement cannot UPDATE/DELETE the same row of the target table multiple times. Refine the ON clause to ensure a target row matches at most one source row, or use the GROUP BY clause to group the source rows.";
    /// 11700
    sequence_without_increment(name: &str) = 11700, 16, 1, "The increment for sequence object '{name}' cannot be zero.";
    /// 11701
    sequence_increment_too_large(name: &str) = 11701, 16, 1, "The absolute value of the increment for sequence object '{name}' must be less than or equal to the difference between the minimum and maximum value of the sequence object.";
    /// 11702
    sequence_type(name: &str) = 11702, 16, 2, "The sequence object '{name}' must be of data type int, bigint, smallint, tinyint, or decimal or numeric with a scale of 0, or any user-defined data type that is based on one of the integer data types listed above.";
    /// 11703
    sequence_start(name: &str) = 11703, 16, 1, "The start value for sequence object '{name}' must be between the minimum and maximum value of the sequence object.";
    /// 11704
    sequence_current(value: i128, name: &str) = 11704, 16, 1, "The current value '{value}' for sequence object '{name}' must be between the minimum and maximum value of the sequence object.";
    /// 11705
    sequence_bounds(name: &str) = 11705, 16, 1, "The minimum value for sequence object '{name}' must be less than its maximum value.";
    /// 11706
    sequence_cache(name: &str) = 11706, 16, 1, "The cache size for sequence object '{name}' must be greater than 0.";
    /// 11708: a value that the sequence's type does not have.
    sequence_value(argument: &str) = 11708, 16, 1, "An invalid value was specified for argument '{argument}' for the given data type.";
    /// 11719
    next_value_inside() = 11719, 15, 1, "NEXT VALUE FOR function is not allowed in check constraints, default objects, computed columns, views, user-defined functions, user-defined aggregates, user-defined table types, sub-queries, common table expressions, derived tables or return statements.";
    /// 11720
    next_value_in_clause() = 11720, 15, 1, "NEXT VALUE FOR function is not allowed in the TOP, OVER, OUTPUT, ON, WHERE, GROUP BY, HAVING, or ORDER BY clauses.";
    /// 11721
    next_value_of_distinct() = 11721, 15, 1, "NEXT VALUE FOR function cannot be used directly in a statement that uses a DISTINCT, UNION, UNION ALL, EXCEPT or INTERSECT operator.";
    /// 11723
    next_value_unordered() = 11723, 15, 1, "NEXT VALUE FOR function cannot be used directly in a statement that contains an ORDER BY clause unless the OVER clause is specified.";
    /// 11726
    not_a_sequence(name: &str) = 11726, 16, 1, "Object '{name}' is not a sequence object.";
    /// 11739
    next_value_limited() = 11739, 15, 1, "NEXT VALUE FOR function cannot be used if ROWCOUNT option has been set, or the query contains TOP or OFFSET.";
    /// 11741
    next_value_in_choice() = 11741, 15, 1, "NEXT VALUE FOR function cannot be used within CASE, CHOOSE, COALESCE, IIF, ISNULL and NULLIF.";
    /// 8197: no table or view for a trigger, or a view for one that is not INSTEAD OF.
    invalid_trigger_parent(name: &str) = 8197, 16, 4, "The object '{name}' does not exist or is invalid for this operation.";
    /// 154: USE where the database is given.
    use_in_module() = 154, 15, 1, "a USE database statement is not allowed in a procedure, function or trigger.";
    /// 178: RETURN with a value outside of a procedure.
    return_with_value() = 178, 15, 1, "A RETURN statement with a return value cannot be used in this context.";
    /// 189: a wrong number of arguments for a function that takes a range.
    function_requires_range(name: &str, low: usize, high: usize) = 189, 15, 1, "The {name} function requires {low} to {high} arguments.";
    /// 193: a name that is too long.
    temporary_name_too_long(name: &str, max: usize) = 193, 15, 1, "The object or column name starting with '{name}' is too long. The maximum length is {max} characters.";
    /// 195: no such function.
    unknown_function(name: &str) = 195, 15, 10, "'{name}' is not a recognized built-in function name.";
    /// 194: variables that a SELECT INTO is to fill.
    assignment_with_into() = 194, 15, 1, "A SELECT INTO statement cannot contain a SELECT statement that assigns values to a variable.";
    /// 196: INTO of another SELECT than the first of a set operation.
    into_not_first() = 196, 15, 1, "SELECT INTO must be the first query in a statement containing a UNION, INTERSECT or EXCEPT operator.";
    /// 199: variables that the query of an INSERT is to fill.
    assignment_in_insert() = 199, 15, 1, "An INSERT statement cannot contain a SELECT statement that assigns values to a variable.";
    /// 201: a parameter without value.
    parameter_not_supplied(module: &str, parameter: &str) = 201, 16, 4, "Procedure or function '{module}' expects parameter '{parameter}', which was not supplied.";
    /// 205: set operations over lists of different lengths.
    set_operation_lengths() = 205, 16, 1, "All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal number of expressions in their target lists.";
    /// 346: READONLY of a parameter that is not a table.
    read_only_value(name: &str) = 346, 15, 1, "The parameter \"{name}\" can not be declared READONLY since it is not a table-valued parameter.";
    /// 352: a table as a parameter without READONLY.
    table_parameter_not_read_only(name: &str) = 352, 15, 1, "The table-valued parameter \"{name}\" must be declared with the READONLY option.";
    /// 10700: a table-valued parameter as the target of a change.
    table_parameter_is_read_only(name: &str) = 10700, 16, 1, "The table-valued parameter \"{name}\" is READONLY and cannot be modified.";
    /// 500: a client's table of another number of columns than its type.
    table_parameter_column_count(sent: usize, wanted: usize) = 500, 16, 1, "Trying to pass a table-valued parameter with {sent} column(s) where the corresponding user-defined table type requires {wanted} column(s).";
    /// 1077: a client's value for the identity column of a table type.
    identity_of_table_variable() = 1077, 16, 1, "INSERT into an identity column not allowed on table variables.";
    /// 8061: what follows the error of a client's row that does not fit a table type.
    table_parameter_does_not_conform(name: &str, number: i32, state: u8) = 8061, 16, 1, "The data for table-valued parameter \"{name}\" doesn't conform to the table type of the parameter. SQL Server error is: {number}, state: {state}";
    /// 206: types that never convert into each other.
    operand_type_clash(left: &str, right: &str) = 206, 16, 2, "Operand type clash: {left} is incompatible with {right}";
    /// 207: no such column.
    invalid_column_name(name: &str) = 207, 16, 1, "Invalid column name '{name}'.";
    /// 208: no such object.
    invalid_object_name(name: &str) = 208, 16, 1, "Invalid object name '{name}'.";
    /// 209: a column name that several sources have.
    ambiguous_column_name(name: &str) = 209, 16, 1, "Ambiguous column name '{name}'.";
    /// 213: VALUES and the table disagree.
    column_count_mismatch() = 213, 16, 1, "Column name or number of supplied values does not match table definition.";
    /// 214: a procedure's argument of a wrong type.
    procedure_expects_parameter(parameter: &str, kind: &str) = 214, 16, 2, "Procedure expects parameter '{parameter}' of type '{kind}'.";
    /// 217: modules nested too deeply.
    nesting_level_exceeded() = 217, 16, 1, "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit 32).";
    /// 218: no such type.
    no_such_type(name: &str) = 218, 16, 1, "Could not find the type '{name}'. Either it does not exist or you do not have the necessary permission.";
    /// 220: a number too large for a small integer type.
    overflow_of_value(name: &str, value: &str) = 220, 16, 1, "Arithmetic overflow error for data type {name}, value = {value}.";
    /// 232: a float too large for an integer type.
    overflow_of_float(name: &str, value: f64) = 232, 16, 3, "Arithmetic overflow error for type {name}, value = {value:.6}.";
    /// 232: money outside the range of tinyint.
    overflow_of_money(value: f64) = 232, 16, 11, "Arithmetic overflow error for type tinyint, value = {value:.6}.";
    /// 235: text that is not money.
    text_to_money() = 235, 16, 0, "Cannot convert a char value to money. The char value has incorrect syntax.";
    /// 237: money beyond a whole number's range.
    no_room_for_money(name: &str) = 237, 16, 1, "There is insufficient result space to convert a money value to {name}.";
    /// 240: a recursive member whose column has another type than the anchor's.
    recursive_types(column: &str, name: &str) = 240, 16, 1, "Types don't match between the anchor and the recursive part in column \"{column}\" of recursive query \"{name}\".";
    /// 241: text that is not a date.
    text_to_date() = 241, 16, 1, "Conversion failed when converting date and/or time from character string.";
    /// 242: a date out of the target's range.
    date_out_of_range(from: &str, to: &str) = 242, 16, 3, "The conversion of a {from} data type to a {to} data type resulted in an out-of-range value.";
    /// 244: text with a number too large for tinyint or smallint.
    text_overflows_small_integer(from: &str, value: &str, bytes: u8) = 244, 16, 1, "The conversion of the {from} value '{value}' overflowed an INT{bytes} column. Use a larger integer column.";
    /// 245: text that is not a number.
    conversion_failed(from: &str, value: &str, to: &str) = 245, 16, 1, "Conversion failed when converting the {from} value '{value}' to data type {to}.";
    /// 246: every member refers to the expression.
    recursion_without_anchor(name: &str) = 246, 16, 1, "No anchor member was specified for recursive query \"{name}\".";
    /// 247: an anchor behind a recursive member.
    anchor_behind_step(name: &str) = 247, 16, 1, "An anchor member was found in the recursive part of recursive query \"{name}\".";
    /// 248: text with a number too large for int.
    text_overflows_int(from: &str, value: &str) = 248, 16, 1, "The conversion of the {from} value '{value}' overflowed an int column.";
    /// 252: a member that refers to its expression, and no UNION ALL before it.
    recursion_without_union_all(name: &str) = 252, 16, 1, "Recursive common table expression '{name}' does not contain a top-level UNION ALL operator.";
    /// 253: a recursive member that refers to its expression twice.
    several_recursive_references(name: &str) = 253, 16, 1, "Recursive member of a common table expression '{name}' has multiple recursive references.";
    /// 257: a conversion that must be asked for.
    implicit_conversion(from: &str, to: &str) = 257, 16, 3, "Implicit conversion from data type {from} to {to} is not allowed. Use the CONVERT function to run this query.";
    /// 263: `*` without FROM.
    nothing_to_select_from() = 263, 16, 1, "Must specify table to select from.";
    /// 264: a column set twice.
    column_set_twice(name: &str) = 264, 16, 1, "The column name '{name}' is specified more than once in the SET clause or column list of an INSERT. A column cannot be assigned more than one value in the same clause. Modify the clause to make sure that a column is updated only once. If this statement updates or inserts columns into a view, column aliasing can conceal the duplication in your code.";
    /// 266: a procedure left other transactions open than it found.
    transaction_count_mismatch(before: u32, after: u32) = 266, 16, 2, "Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT statements. Previous count = {before}, current count = {after}.";
    /// 281: a style that does not exist for the types.
    invalid_style(style: i32, from: &str) = 281, 16, 1, "{style} is not a valid style number when converting from {from} to a character string.";
    /// 306: text, ntext and image where values are compared or sorted.
    not_comparable() = 306, 16, 2, "The text, ntext, and image data types cannot be compared or sorted, except when using IS NULL or LIKE operator.";
    /// 307: an index hint with an id that the table does not have.
    no_index_of_id(id: u32, table: &str) = 307, 16, 1, "Index ID {id} on table '{table}' (specified in the FROM clause) does not exist.";
    /// 308: an index hint with a name that the table does not have.
    no_index_of_name(name: &str, table: &str) = 308, 16, 1, "Index '{name}' on table '{table}' (specified in the FROM clause) does not exist.";
    /// 310: OPTION (MAXRECURSION) out of range.
    maxrecursion_out_of_range(value: &str) = 310, 15, 1, "The value {value} specified for the MAXRECURSION option exceeds the allowed maximum of 32767.";
    /// 402: types an operator does not take together.
    incompatible_operands(left: &str, right: &str, operator: &str) = 402, 16, 1, "The data types {left} and {right} are incompatible in the {operator} operator.";
    /// 421: text, ntext and image in DISTINCT.
    not_comparable_as_distinct(kind: &str) = 421, 16, 1, "The {kind} data type cannot be selected as DISTINCT because it is not comparable.";
    /// 445: COLLATE of what has one already.
    collate_twice() = 445, 16, 1, "COLLATE clause cannot be used on expressions containing a COLLATE clause.";
    /// 446: a comparison of what came out of an operator without a collation.
    collation_conflict_below(left: &str, right: &str, operator: &str, operation: &str) = 446, 16, 9, "Cannot resolve collation conflict between \"{left}\" and \"{right}\" in {operator} operator for {operation} operation.";
    /// 447: COLLATE of something other than a string.
    not_collatable(type_name: &str) = 447, 16, 0, "Expression type {type_name} is invalid for COLLATE clause.";
    /// 448: no such collation.
    invalid_collation(name: &str) = 448, 16, 1, "Invalid collation '{name}'.";
    /// 451: a result, a group or a sort key without a collation.
    collation_conflict_in_list(left: &str, right: &str, operator: &str, clause: &str, place: usize) = 451, 16, 1, "Cannot resolve collation conflict between \"{left}\" and \"{right}\" in {operator} operator occurring in {clause} statement column {place}.";
    /// 452: COLLATE of a column of an alias type.
    collate_of_alias_type() = 452, 16, 1, "COLLATE clause cannot be used on user-defined data types.";
    /// 457: a value without a collation is stored.
    collation_unresolved(type_name: &str, left: &str, right: &str, operator: &str) = 457, 16, 1, "Implicit conversion of {type_name} value to {type_name} cannot be performed because the collation of the value is unresolved due to a collation conflict between \"{left}\" and \"{right}\" in {operator} operator.";
    /// 460: DISTINCT in a recursive member.
    distinct_in_recursion(name: &str) = 460, 16, 1, "DISTINCT operator is not allowed in the recursive part of a recursive common table expression '{name}'.";
    /// 461: TOP in a recursive member.
    top_in_recursion(name: &str) = 461, 16, 1, "The TOP or OFFSET operator is not allowed in the recursive part of a recursive common table expression '{name}'.";
    /// 462: an outer join in a recursive member.
    outer_join_in_recursion(name: &str) = 462, 16, 1, "Outer join is not allowed in the recursive part of a recursive common table expression '{name}'.";
    /// 465: a subquery that refers to the expression it is in.
    recursion_in_subquery() = 465, 16, 1, "Recursive references are not allowed in subqueries.";
    /// 467: grouping in a recursive member.
    grouping_in_recursion(name: &str) = 467, 16, 1, "GROUP BY, HAVING, or aggregate functions are not allowed in the recursive part of a recursive common table expression '{name}'.";
    /// 468: two collations meet.
    collation_conflict(left: &str, right: &str, operation: &str) = 468, 16, 9, "Cannot resolve the collation conflict between \"{left}\" and \"{right}\" in the {operation} operation.";
    /// 506: an escape of more than one character.
    invalid_escape(text: &str) = 506, 16, 1, "The invalid escape character \"{text}\" was specified in a LIKE predicate.";
    /// 507: a ROWCOUNT that is not a count.
    invalid_row_count() = 507, 16, 2, "Invalid argument for SET ROWCOUNT. Must be a non-null non-negative integer.";
    /// 512: a scalar subquery with several rows.
    subquery_returned_many() = 512, 16, 1, "Subquery returned more than 1 value. This is not permitted when the subquery follows =, !=, <, <= , >, >= or when the subquery is used as an expression.";
    /// 515: NULL for a column that has none.
    null_not_allowed(column: &str, table: &str, operation: &str) = 515, 16, 2, "Cannot insert the value NULL into column '{column}', table '{table}'; column does not allow nulls. {operation} fails.";
    /// 517: DATEADD left the type's range.
    date_add_overflow(name: &str) = 517, 16, 1, "Adding a value to a '{name}' column caused an overflow.";
    /// 529: a conversion that does not exist.
    explicit_conversion(from: &str, to: &str) = 529, 16, 2, "Explicit conversion from data type {from} to {to} is not allowed.";
    /// 535: DATEDIFF does not fit into int.
    date_difference_overflow(function: &str) = 535, 16, 0, "The {function} function resulted in an overflow. The number of dateparts separating two date/time instances is too large. Try to use {function} with a less precise datepart.";
    /// 536: a negative length for RIGHT.
    invalid_length_of_right() = 536, 16, 4, "Invalid length parameter passed to the right function.";
    /// 537: a negative length for LEFT or SUBSTRING.
    invalid_length() = 537, 16, 3, "Invalid length parameter passed to the LEFT or SUBSTRING function.";
    /// 567: a file of a trace that is none.
    not_a_trace(path: &str) = 567, 16, 5, "File '{path}' either does not exist or is not a recognizable trace file. Or there was an error opening the file.";
    /// 544: a value for an identity column.
    identity_insert_off(table: &str) = 544, 16, 1, "Cannot insert explicit value for identity column in table '{table}' when IDENTITY_INSERT is set to OFF.";
    /// 547: a constraint was violated.
    constraint_conflict(statement: &str, kind: &str, constraint: &str, database: &str, table: &str, column: &str) = 547, 16, 0, "The {statement} statement conflicted with the {kind} constraint \"{constraint}\". The conflict occurred in database \"{database}\", table \"{table}\"{column}.";
    /// 272: a rowversion column in SET.
    row_version_update() = 272, 16, 1, "Cannot update a timestamp column.";
    /// 273: a value for a rowversion column.
    row_version_insert() = 273, 16, 1, "Cannot insert an explicit value into a timestamp column. Use INSERT with a column list to exclude the timestamp column, or insert a DEFAULT into the timestamp column.";
    /// 550: a new row would not be one of the view's.
    row_leaves_view() = 550, 16, 1, "The attempted insert or update failed because the target view either specifies WITH CHECK OPTION or spans a view that specifies WITH CHECK OPTION and one or more rows resulting from the operation did not qualify under the CHECK OPTION constraint.";
    /// 596: KILL, while a request runs.
    session_killed() = 596, 21, 1, "Cannot continue the execution because the session is in the kill state.";
    /// 628: SAVE TRANSACTION outside of a transaction.
    save_without_transaction() = 628, 16, 0, "Cannot issue SAVE TRANSACTION when there is no active transaction.";
    /// 650: READPAST where rows may not be passed by.
    readpast_isolation() = 650, 16, 1, "You can only specify the READPAST lock in the READ COMMITTED or REPEATABLE READ isolation levels.";
    /// 911: no such database.
    database_not_found(name: &str) = 911, 16, 1, "Database '{name}' does not exist. Make sure that the name is entered correctly.";
    /// 1001: a length of nothing.
    length_of_nothing() = 1001, 15, 1, "Length or precision specification 0 is invalid.";
    /// 1011: an alias twice in one FROM.
    duplicate_correlation_name(name: &str) = 1011, 16, 1, "The correlation name '{name}' is specified multiple times in a FROM clause.";
    /// 1013: two sources with the same exposed name.
    same_exposed_names(left: &str, right: &str) = 1013, 16, 1, "The objects \"{left}\" and \"{right}\" in the FROM clause have the same exposed names. Use correlation names to distinguish them.";
    /// 1046: a subquery in PRINT, in a default, in a CHECK.
    subqueries_not_allowed() = 1046, 15, 1, "Subqueries are not allowed in this context. Only scalar expressions are allowed.";
    /// 1012: an alias that is the name of a table beside it.
    alias_is_table_name(alias: &str, table: &str) = 1012, 16, 1, "The correlation name '{alias}' has the same exposed name as table '{table}'.";
    /// 1033: ORDER BY in a derived table without TOP.
    order_by_invalid() = 1033, 15, 1, "The ORDER BY clause is invalid in views, inline functions, derived tables, subqueries, and common table expressions, unless TOP, OFFSET or FOR XML is also specified.";
    /// 1047: hints that contradict each other.
    conflicting_locking_hints() = 1047, 15, 1, "Conflicting locking hints specified.";
    /// 1060: TOP or FETCH with something that is not a count.
    row_count_not_integer() = 1060, 15, 1, "The number of rows provided for a TOP or FETCH clauses row count parameter must be an integer.";
    /// 1065: NOLOCK where rows are changed.
    nolock_at_target() = 1065, 15, 1, "The NOLOCK and READUNCOMMITTED lock hints are not allowed for target tables of INSERT, UPDATE, DELETE or MERGE statements.";
    /// 1069: an index hint where rows are changed.
    index_hint_misplaced() = 1069, 16, 1, "Index hints are only allowed in a FROM or OPTION clause.";
    /// 1087: a table variable that was never declared.
    table_variable_not_declared(name: &str) = 1087, 15, 2, "Must declare the table variable \"{name}\".";
    /// 3728: DROP CONSTRAINT of a name that the table has no constraint by.
    no_constraint(name: &str) = 3728, 16, 1, "'{name}' is not a constraint.";
    /// 3727: follows the reason why a constraint was not dropped (database.guide, "Fix Msg 3728").
    constraint_not_dropped() = 3727, 16, 0, "Could not drop constraint. See previous errors.";
    /// 1750: follows the reason why a constraint was not made.
    constraint_not_made() = 1750, 16, 0, "Could not create constraint or index. See previous errors.";
    /// 3021: BACKUP or RESTORE in a transaction.
    backup_in_transaction() = 3021, 16, 0, "Cannot perform a backup or restore operation within a transaction.";
    /// 4413: behind what is wrong in a view that a statement reads.
    view_unusable(name: &str) = 4413, 16, 1, "Could not use view or function '{name}' because of binding errors.";
    /// 2627: a key that is there already. That of an index of a table is the store's error.
    duplicate_key(kind: &str, constraint: &str, table: &str, key: &str) = 2627, 14, 1, "Violation of {kind} constraint '{constraint}'. Cannot insert duplicate key in object '{table}'. The duplicate key value is {key}.";
    /// 1916: IGNORE_DUP_KEY of an index that is not unique.
    ignores_duplicates_but_not_unique() = 1916, 16, 4, "CREATE INDEX options nonunique and ignore_dup_key are mutually exclusive.";
    /// 315
    hinted_index_is_disabled(index: &str, table: &str) = 315, 16, 1, "Index \"{index}\" on table \"{table}\" (specified in the FROM clause) is disabled or resides in a filegroup which is not online.";
    /// 1973
    operation_on_disabled_index(index: &str, table: &str) = 1973, 16, 1, "Cannot perform the specified operation on disabled index '{index}' on table '{table}'.";
    /// 1974
    operation_on_disabled_table(table: &str, index: &str) = 1974, 16, 1, "Cannot perform the specified operation on table '{table}' because its clustered index '{index}' is disabled.";
    /// 1987
    clustered_is_disabled(verb: &str, index: &str, table: &str) = 1987, 16, 1, "Cannot {verb} index '{index}' on table '{table}' because its clustered index is disabled.";
    /// 1989
    referenced_index_is_disabled(key: &str, index: &str) = 1989, 16, 1, "Cannot enable foreign key constraint '{key}' as index '{index}' on referenced key is disabled.";
    /// 8655
    index_is_disabled(index: &str, table: &str) = 8655, 16, 1, "The query processor is unable to produce a plan because the index '{index}' on table or view '{table}' is disabled.";
    /// 1915
    ignores_duplicates_of_nonunique(index: &str) = 1915, 16, 1, "Cannot alter a non-unique index with ignore_dup_key index option. Index '{index}' is non-unique.";
    /// 1979
    ignores_duplicates_of_constraint(index: &str) = 1979, 16, 1, "Cannot use index option ignore_dup_key to alter index '{index}' as it enforces a primary or unique constraint.";
    /// 10618; `verb` is create or alter.
    ignores_duplicates_of_filter(verb: &str, index: &str, table: &str) = 10618, 16, 1, "Cannot {verb} filtered index '{index}' on table '{table}' because the statement sets the IGNORE_DUP_KEY option to ON. Rewrite the statement so that it does not use the IGNORE_DUP_KEY option.";
    /// 1909: a column twice in an index.
    duplicate_index_column(column: &str) = 1909, 16, 1, "Cannot use duplicate column names in index. Column name '{column}' listed more than once.";
    /// 10601: INCLUDE of an index that holds the rows themselves.
    include_of_clustered_index() = 10601, 16, 1, "Cannot specify included columns for a clustered index.";
    /// 1919: a column whose type no index can have in its key.
    invalid_key_type(column: &str, table: &str) = 1919, 16, 1, "Column '{column}' in table '{table}' is of a type that is invalid for use as a key column in an index.";
    /// 2740: no language of that name.
    no_such_language(name: &str) = 2740, 16, 1, "SET LANGUAGE failed because '{name}' is not an official language name or a language alias on this SQL Server.";
    /// 2741: no order of a date's parts.
    invalid_date_format(order: &str) = 2741, 16, 1, "SET DATEFORMAT date order '{order}' is invalid.";
    /// 2742: no day of the week.
    date_first_out_of_range(day: i64) = 2742, 16, 1, "SET DATEFIRST {day} is out of range.";
    /// 2739: a variable of a type that only columns and parameters have.
    old_lob_variable() = 2739, 16, 1, "The text, ntext, and image data types are invalid for local variables.";
    /// 2755: no priority.
    invalid_deadlock_priority() = 2755, 16, 1, "SET DEADLOCK_PRIORITY option is invalid. Valid options are {{HIGH | NORMAL | LOW | [-10 ... 10] of type integer}}.";
    /// 2628: a string too long for its column.
    truncated(table: &str, column: &str, value: &str) = 2628, 16, 1, "String or binary data would be truncated in table '{table}', column '{column}'. Truncated value: '{value}'.";
    /// 2705: a column name twice in a table.
    duplicate_column_in_table(name: &str, table: &str) = 2705, 16, 3, "Column names in each table must be unique. Column name '{name}' in table '{table}' is specified more than once.";
    /// 1913: an index, key or statistics of the table has the name.
    index_exists(table: &str, name: &str) = 1913, 16, 1, "The operation failed because an index or statistics with name '{name}' already exists on table '{table}'.";
    /// 2714: an object of that name exists.
    object_exists(name: &str) = 2714, 16, 6, "There is already an object named '{name}' in the database.";
    /// 243: no such type to convert to.
    undefined_type(name: &str) = 243, 16, 1, "Type {name} is not a defined system type.";
    /// 2715: no such type.
    unknown_type(ordinal: usize, name: &str) = 2715, 16, 6, "Column, parameter, or variable #{ordinal}: Cannot find data type {name}.";
    /// 2716: a length for a type that has none.
    type_takes_no_length(ordinal: usize, name: &str) = 2716, 16, 1, "Column, parameter, or variable #{ordinal}: Cannot specify a column width on data type {name}.";
    /// 2717: a length beyond the type's limit.
    type_length_too_large(length: u32, name: &str, limit: u32) = 2717, 15, 2, "The size ({length}) given to the type '{name}' exceeds the maximum allowed ({limit}).";
    /// 2732: RAISERROR of a number that is reserved.
    message_number_invalid(number: i64) = 2732, 16, 1, "Error number {number} is invalid. The number must be from 13000 through 2147483647 and it cannot be 50000.";
    /// 2738: a second rowversion column.
    several_row_versions(table: &str, column: &str) = 2738, 16, 1, "A table can only have one timestamp column. Because table '{table}' already has one, the column '{column}' cannot be added.";
    /// 2744: two identity columns.
    several_identity_columns(table: &str) = 2744, 16, 2, "Multiple identity columns specified for table '{table}'. Only one identity column per table is allowed.";
    /// 2749: an identity column of a wrong type.
    identity_type(column: &str) = 2749, 16, 2, "Identity column '{column}' must be of data type int, bigint, smallint, tinyint, or decimal or numeric with a scale of 0, unencrypted, and constrained to be nonnullable.";
    /// 2750: a precision beyond 38.
    precision_too_large(ordinal: usize, precision: u32, limit: u32) = 2750, 16, 1, "Column or parameter #{ordinal}: Specified column precision {precision} is greater than the maximum precision of {limit}.";
    /// 2751: a scale beyond the precision.
    scale_too_large(ordinal: usize, scale: u32, limit: u32) = 2751, 16, 1, "Column or parameter #{ordinal}: Specified column scale {scale} is greater than the specified precision of {limit}.";
    /// 2812: no such procedure.
    procedure_not_found(name: &str) = 2812, 16, 62, "Could not find stored procedure '{name}'.";
    /// 3701: nothing to drop.
    cannot_drop(kind: &str, name: &str) = 3701, 11, 5, "Cannot drop the {kind} '{name}', because it does not exist or you do not have permission.";
    /// 3732: a type that a column is declared by.
    type_in_use(name: &str, object: &str) = 3732, 16, 1, "Cannot drop type '{name}' because it is being referenced by object '{object}'. There may be other objects that reference this type.";
    /// 3902: COMMIT outside of a transaction.
    commit_without_transaction() = 3902, 16, 1, "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.";
    /// 3903: ROLLBACK outside of a transaction.
    rollback_without_transaction() = 3903, 16, 1, "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.";
    /// 3914: a variable that is not text as a name.
    transaction_name_type(kind: &str) = 3914, 16, 0, "The data type \"{kind}\" is invalid for transaction names or savepoint names. Allowed data types are char, varchar, nchar, varchar(max), nvarchar, and nvarchar(max).";
    /// 3915: ROLLBACK in what INSERT ... EXECUTE runs.
    rollback_in_insert_execute() = 3915, 16, 0, "Cannot use the ROLLBACK statement within an INSERT-EXEC statement.";
    /// 3916: COMMIT of what INSERT ... EXECUTE is part of.
    commit_in_insert_execute() = 3916, 16, 0, "Cannot use the COMMIT statement within an INSERT-EXEC statement unless BEGIN TRANSACTION is used first.";
    /// 3930: a transaction that can only be rolled back.
    transaction_doomed() = 3930, 16, 1, "The current transaction cannot be committed and cannot support operations that write to the log file. Roll back the transaction.";
    /// 3931: a savepoint in such a transaction.
    transaction_doomed_savepoint() = 3931, 16, 1, "The current transaction cannot be committed and cannot be rolled back to a savepoint. Roll back the entire transaction.";
    /// 3951: SNAPSHOT in a transaction that began under another level.
    snapshot_too_late(database: &str) = 3951, 16, 1, "Transaction failed in database '{database}' because the statement was run under snapshot isolation but the transaction did not start in snapshot isolation. You cannot change the isolation level of the transaction to snapshot after the transaction has started unless the transaction was originally started under snapshot isolation level.";
    /// 3952: SNAPSHOT in a database that does not allow it.
    snapshot_not_allowed(database: &str) = 3952, 16, 1, "Snapshot isolation transaction failed accessing database '{database}' because snapshot isolation is not allowed in this database. Use ALTER DATABASE to allow snapshot isolation.";
    /// 3956: the database is on its way to allow it.
    snapshot_not_yet_allowed(database: &str) = 3956, 16, 1, "Snapshot isolation transaction failed to start in database '{database}' because the ALTER DATABASE command which enables snapshot isolation for this database has not finished yet. The database is in transition to pending ON state. You must wait until the ALTER DATABASE Command completes successfully.";
    /// 3957: the database has kept versions for less long than the transaction is under way.
    snapshot_was_not_allowed(database: &str) = 3957, 16, 1, "Snapshot isolation transaction failed in database '{database}' because the database did not allow snapshot isolation when the current transaction started. It may help to retry the transaction.";
    /// 3961: a table that was redefined since the snapshot was taken.
    redefined_since_snapshot(database: &str) = 3961, 16, 1, "Snapshot isolation transaction failed in database '{database}' because the object accessed by the statement has been modified by a DDL statement in another concurrent transaction since the start of this transaction.  It is disallowed because the metadata is not versioned. A concurrent update to metadata can lead to inconsistency if mixed with snapshot isolation.";
    /// 3964: a definition is to change in a transaction under SNAPSHOT.
    definition_under_snapshot() = 3964, 16, 1, "Transaction failed because this DDL statement is not allowed inside a snapshot isolation transaction. Since metadata is not versioned, a metadata change can lead to inconsistency if mixed within snapshot isolation.";
    /// 3977: an empty name by the client's protocol.
    savepoint_without_name() = 3977, 16, 1, "The savepoint name cannot be NULL. The batch has been aborted.";
    /// 3998: such a transaction at the end of its batch.
    doomed_transaction_rolled_back() = 3998, 16, 1, "Uncommittable transaction is detected at the end of the batch. The transaction is rolled back.";
    /// 4104: a qualified name that no source answers to.
    multi_part_identifier(name: &str) = 4104, 16, 1, "The multi-part identifier \"{name}\" could not be bound.";
    /// 4108: a window function outside of SELECT and ORDER BY.
    windowed_function_misplaced() = 4108, 15, 1, "Windowed functions can only appear in the SELECT or ORDER BY clauses.";
    /// 4112: a ranking function without ORDER BY.
    ranking_needs_order(name: &str) = 4112, 15, 1, "The function '{name}' must have an OVER clause with ORDER BY.";
    /// 4116: NTILE of zero or fewer groups, or of NULL.
    tiles_not_positive() = 4116, 16, 1, "The function 'ntile' takes only a positive int or bigint expression as its input.";
    /// 4109: a window function inside of a window function or an aggregate.
    window_in_window() = 4109, 15, 1, "Windowed functions cannot be used in the context of another windowed function or aggregate.";
    /// 4193: a frame that ends before it begins.
    window_frame_reversed(frame: &str) = 4193, 16, 1, "'{frame}' is not a valid window frame and cannot be used with the OVER clause.";
    /// 4194: RANGE with a distance.
    range_with_distance() = 4194, 16, 1, "RANGE is only supported with UNBOUNDED and CURRENT ROW window frame delimiters.";
    /// 5302: a method that changes a value, of a column that is NULL. That this is the number for WRITE is inferred: the clause "can't be
    /// used to update a NULL column" (sql-docs, UPDATE).
    mutator_of_null(method: &str, column: &str) = 5302, 16, 1, "Mutator '{method}' on '{column}' cannot be called on a null value.";
    /// 5335: text, ntext and image in a set operation that compares rows.
    set_operand_not_comparable(kind: &str) = 5335, 16, 1, "The data type {kind} cannot be used as an operand to the UNION, INTERSECT or EXCEPT operators because it is not comparable.";
    /// 5308: `ORDER BY 1` in OVER.
    window_order_by_number() = 5308, 16, 1, "Windowed functions, aggregates and NEXT VALUE FOR functions do not support integer indices as ORDER BY clause expressions.";
    /// 5309: `ORDER BY 'x'` in OVER.
    window_order_by_constant() = 5309, 16, 1, "Windowed functions, aggregates and NEXT VALUE FOR functions do not support constants as ORDER BY clause expressions.";
    /// 239: two common table expressions of one name.
    duplicate_common_table_expression(name: &str) = 239, 16, 1, "Duplicate common table expression name '{name}' was specified.";
    /// 8161: GROUPING of something that is not a key.
    grouping_of_no_key(argument: usize, function: &str) = 8161, 15, 1, "Argument {argument} of the {function} function does not match any of the expressions in the GROUP BY clause.";
    /// 10752: a frame for a function that has none.
    window_frame_not_allowed(name: &str, state: u8) = 10752, 15, state, "The function '{name}' may not have a window frame.";
    /// 10756: a frame of rows in no order.
    window_frame_needs_order() = 10756, 15, 1, "Window frame with ROWS or RANGE must have an ORDER BY clause.";
    /// 10759: `COUNT(DISTINCT x) OVER (...)`.
    window_of_distinct() = 10759, 15, 1, "Use of DISTINCT is not allowed with the OVER clause.";
    /// 4127: COALESCE with no type to take.
    coalesce_of_nulls() = 4127, 16, 1, "At least one of the arguments to COALESCE must be an expression that is not the NULL constant.";
    /// 4151: NULLIF with no type to take.
    nullif_of_null() = 4151, 16, 1, "The type of the first argument to NULLIF cannot be the NULL constant because the type of the first argument has to be known.";
    /// 4512: SCHEMABINDING, and a name that is not in two parts.
    cannot_schema_bind(kind: &str, module: &str, name: &str) = 4512, 16, 3, "Cannot schema bind {kind} '{module}' because name '{name}' is invalid for schema binding. Names must be in two-part format and an object cannot reference itself.";
    /// 1052: two ways that exclude each other.
    conflicting_options(statement: &str, one: &str, other: &str) = 1052, 15, 1, "Conflicting {statement} options \"{one}\" and \"{other}\".";
    /// 1909: a column twice in a list.
    duplicate_column_of(kind: &str, column: &str) = 1909, 16, 1, "Cannot use duplicate column names in {kind}. Column name '{column}' listed more than once.";
    /// 1911: a column of an index or of statistics that the table does not have.
    column_not_in_target(column: &str) = 1911, 16, 1, "Column name '{column}' does not exist in the target table or view.";
    /// 1927: statistics of a name that there is.
    statistics_exist(table: &str, name: &str) = 1927, 16, 1, "There are already statistics on table '{table}' named '{name}'.";
    /// 2767: statistics that do not exist.
    no_such_statistics(name: &str) = 2767, 16, 1, "Could not locate statistics '{name}' in the system catalogs.";
    /// 3739: DROP STATISTICS of an index's.
    statistics_of_index(name: &str) = 3739, 11, 1, "Cannot DROP the index '{name}' because it is not a statistics collection.";
    /// 1054: `*` under SCHEMABINDING.
    star_in_schema_bound() = 1054, 15, 1, "Syntax '*' is not allowed in schema-bound objects.";
    /// 4902: ALTER of a table that does not exist.
    cannot_find_object(name: &str) = 4902, 16, 1, "Cannot find the object \"{name}\" because it does not exist or you do not have permissions.";
    /// 4927: ALTER COLUMN to a type that no column gets later.
    altered_to_type(column: &str, type_name: &str) = 4927, 16, 1, "Cannot alter column '{column}' to be data type {type_name}.";
    /// 4928: ALTER COLUMN of what cannot be altered.
    column_is_fixed(column: &str, what: &str) = 4928, 16, 1, "Cannot alter column '{column}' because it is '{what}'.";
    /// 4924: a column that a table does not have.
    column_not_in_table(column: &str, table: &str) = 4924, 16, 1, "ALTER TABLE DROP COLUMN failed because column '{column}' does not exist in table '{table}'.";
    /// 4901: a new column that rows cannot take.
    added_column_needs_default(column: &str, table: &str) = 4901, 16, 1, "ALTER TABLE only allows columns to be added that can contain nulls, or have a DEFAULT definition specified, or the column being added is an identity or timestamp column, or alternatively if none of the previous conditions are satisfied the table must be empty to allow addition of this column. Column '{column}' cannot be added to non-empty table '{table}' because it does not satisfy these conditions.";
    /// 4403: a view or common table expression whose rows are no rows of a table.
    view_is_grouped(name: &str) = 4403, 16, 1, "Cannot update the view or function '{name}' because it contains aggregates, or a DISTINCT or GROUP BY clause, or PIVOT or UNPIVOT operator.";
    /// 4405: a change through a view that is one of several tables.
    view_of_several_tables(name: &str) = 4405, 16, 1, "View or function '{name}' is not updatable because the modification affects multiple base tables.";
    /// 4406: a change of a column that a view computes.
    view_column_is_derived(name: &str) = 4406, 16, 1, "Update or insert of view or function '{name}' failed because it contains a derived or constant field.";
    /// 4415: a change through a checked view whose query reads the table once more.
    checked_view_repeats_target(name: &str) = 4415, 16, 1, "View '{name}' is not updatable because either it was created WITH CHECK OPTION or it spans a view created WITH CHECK OPTION and the target table is referenced multiple times in the resulting query.";
    /// 4416: a change through UNION ALL.
    view_of_union_all(name: &str) = 4416, 16, 1, "UNION ALL view '{name}' is not updatable because the definition contains a disallowed construct.";
    /// 4417: a change through a derived table of set operators.
    derived_table_of_union(name: &str) = 4417, 16, 1, "Derived table '{name}' is not updatable because the definition contains a UNION operator.";
    /// 4418: a derived table whose rows are no rows of a table.
    derived_table_is_grouped(name: &str) = 4418, 16, 1, "Derived table '{name}' is not updatable because it contains aggregates, or a DISTINCT or GROUP BY clause, or PIVOT or UNPIVOT operator.";
    /// 4420: a change through a derived table that is one of several tables.
    derived_table_of_several_tables(name: &str) = 4420, 16, 1, "Derived table '{name}' is not updatable because the modification affects multiple base tables.";
    /// 4421: a change of a column that a derived table computes.
    derived_table_column_is_derived(name: &str) = 4421, 16, 1, "Derived table '{name}' is not updatable because a column of the derived table is derived or constant.";
    /// 4426: a change through set operators.
    view_of_union(name: &str) = 4426, 16, 1, "View '{name}' is not updatable because the definition contains a UNION operator.";
    /// 4427: a change through a checked view that shows only so many rows.
    checked_view_is_limited(name: &str) = 4427, 16, 1, "Cannot update the view \"{name}\" because it or a view it references was created with WITH CHECK OPTION and its definition contains a TOP or OFFSET clause.";
    /// 8101: an identity value without a column list.
    identity_needs_column_list(table: &str) = 8101, 16, 1, "An explicit value for the identity column in table '{table}' can only be specified when a column list is used and IDENTITY_INSERT is ON.";
    /// 8141: the CHECK of a column that names another.
    column_check_names_another(column: &str, table: &str) = 8141, 16, 0, "Column CHECK constraint for column '{column}' references another column, table '{table}'.";
    /// 8102: SET of an identity column.
    identity_update(column: &str) = 8102, 16, 1, "Cannot update identity column '{column}'.";
    /// 8111: a key over a column that may be NULL.
    primary_key_nullable(table: &str) = 8111, 16, 1, "Cannot define PRIMARY KEY constraint on nullable column in table '{table}'.";
    /// 8114: a conversion between types that failed.
    conversion_error(from: &str, to: &str) = 8114, 16, 5, "Error converting data type {from} to {to}.";
    /// 8115: a number out of the target's range.
    overflow_converting(from: &str, to: &str) = 8115, 16, 2, "Arithmetic overflow error converting {from} to data type {to}.";
    /// 5313: a synonym whose base is not there, or is none that is asked for.
    invalid_synonym(name: &str) = 5313, 16, 1, "Synonym '{name}' refers to an invalid object.";
    /// 470
    synonym_of_synonym(name: &str, base: &str) = 470, 16, 1, "The synonym \"{name}\" referenced synonym \"{base}\". Synonym chaining is not allowed.";
    /// 2788
    synonym_in_schema_bound() = 2788, 16, 1, "Synonyms are invalid in a schemabound object or a constraint expression.";
    /// 3705: DROP of an object of another kind.
    drop_of_another_kind(wanted: &str, name: &str, kind: &str, own: &str) = 3705, 16, 1, "Cannot use DROP {wanted} with '{name}' because '{name}' is a {kind}. Use DROP {own}.";
    /// 177
    identity_function_without_into() = 177, 15, 1, "The IDENTITY function can only be used when the SELECT statement has an INTO clause.";
    /// 8108
    second_identity_of_rows(table: &str, column: &str) = 8108, 16, 1, "Cannot add identity column, using the SELECT INTO statement, to table '{table}', which already has column '{column}' that inherits the identity property.";
    /// 8115: digits that a result cannot keep, under NUMERIC_ROUNDABORT.
    digits_lost() = 8115, 16, 7, "Arithmetic overflow error converting numeric to data type numeric.";
    /// 8116: an argument of a type that a function does not take.
    invalid_argument_type(kind: &str, position: usize, function: &str) = 8116, 16, 1, "Argument data type {kind} is invalid for argument {position} of {function} function.";
    /// 8117: an operand of a type that an operator does not take.
    invalid_operand_type(kind: &str, operator: &str) = 8117, 16, 1, "Operand data type {kind} is invalid for {operator} operator.";
    /// 8120: a column that grouping has lost.
    not_grouped(column: &str) = 8120, 16, 1, "Column '{column}' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause.";
    /// 8121: the same in HAVING.
    not_grouped_in_having(column: &str) = 8121, 16, 1, "Column '{column}' is invalid in the HAVING clause because it is not contained in either an aggregate function or the GROUP BY clause.";
    /// 8127: the same in ORDER BY.
    not_grouped_in_order_by(column: &str) = 8127, 16, 1, "Column \"{column}\" is invalid in the ORDER BY clause because it is not contained in either an aggregate function or the GROUP BY clause.";
    /// 8133: CASE, IIF or CHOOSE with no type to take.
    case_of_nulls() = 8133, 16, 1, "At least one of the result expressions in a CASE specification must be an expression other than the NULL constant.";
    /// 8134: division by zero.
    divide_by_zero() = 8134, 16, 1, "Divide by zero error encountered.";
    /// 557: a module that is not a function, called inside a function.
    only_functions_in_function() = 557, 16, 2, "Only functions and some extended stored procedures can be executed from within a function.";
    /// 1074: CREATE FUNCTION #name.
    temporary_function() = 1074, 15, 1, "Creation of temporary functions is not allowed.";
    /// 1075: RETURN alone in a scalar function.
    return_without_value() = 1075, 15, 1, "RETURN statements in scalar valued functions must include an argument.";
    /// 2010: ALTER of an object of another kind.
    incompatible_object_type(name: &str) = 2010, 16, 1, "Cannot perform alter on '{name}' because it is an incompatible object type.";
    /// 2772: a temporary table in a function.
    temporary_table_in_function() = 2772, 16, 1, "Cannot access temporary tables from within a function.";
    /// 3729: an object that others refer to.
    referenced_by_object(statement: &str, object: &str, by: &str) = 3729, 16, 1, "Cannot {statement} '{object}' because it is being referenced by object '{by}'.";
    /// 4121: no such function.
    function_not_found(schema: &str, name: &str) = 4121, 16, 1, "Cannot find either column \"{schema}\" or the user-defined function or aggregate \"{name}\", or the name is ambiguous.";
    /// 455: a function that does not end with RETURN.
    last_statement_is_no_return() = 455, 16, 2, "The last statement included within a function must be a return statement.";
    /// 4429: a view or function whose query reads itself.
    self_reference(name: &str) = 4429, 16, 1, "View or function '{name}' contains a self-reference. Views or functions cannot reference themselves directly or indirectly.";
    /// 4506: two columns of a view of one name.
    duplicate_view_column(column: &str, view: &str) = 4506, 16, 1, "Column names in each view or function must be unique. Column name '{column}' in view or function '{view}' is specified more than once.";
    /// 4511: an unnamed column of an inline function or a view.
    module_column_without_name(ordinal: usize) = 4511, 16, 1, "Create View or Function failed because no column name was specified for column {ordinal}.";
    /// 2809: EXECUTE of something that is not a procedure.
    not_a_procedure(name: &str) = 2809, 16, 1, "The request for procedure '{name}' failed because '{name}' is a table valued function object.";
    /// 4103: CREATE VIEW #name.
    temporary_view(name: &str) = 4103, 15, 1, "\"{name}\": Temporary views are not allowed.";
    /// 166: a database before the name of what is created.
    database_prefix(statement: &str) = 166, 15, 1, "'{statement}' does not allow specifying the database name as a prefix to the object name.";
    /// 8144: more arguments than parameters.
    too_many_arguments(module: &str) = 8144, 16, 2, "Procedure or function {module} has too many arguments specified.";
    /// 8145: an argument for a parameter that does not exist.
    not_a_parameter(parameter: &str, module: &str) = 8145, 16, 1, "{parameter} is not a parameter for procedure {module}.";
    /// 8154: the target of UPDATE or DELETE is in FROM several times.
    ambiguous_table(name: &str) = 8154, 15, 1, "The table '{name}' is ambiguous.";
    /// 8155: a derived column without a name.
    column_without_name(ordinal: usize, table: &str) = 8155, 16, 2, "No column name was specified for column {ordinal} of '{table}'.";
    /// 8156: a column name twice in a derived table.
    duplicate_column(column: &str, table: &str) = 8156, 16, 1, "The column '{column}' was specified multiple times for '{table}'.";
    /// 8159: a column list that is too long.
    column_list_too_long(table: &str) = 8159, 16, 1, "'{table}' has fewer columns than were specified in the column list.";
    /// 8158: a column list that is too short.
    column_list_too_short(table: &str) = 8158, 16, 1, "'{table}' has more columns than were specified in the column list.";
    /// 8169: text that is not a uniqueidentifier.
    text_to_guid() = 8169, 16, 2, "Conversion failed when converting from a character string to uniqueidentifier.";
    /// 8171: a hint where it has no meaning.
    invalid_hint(hint: &str, object: &str) = 8171, 16, 1, "Hint '{hint}' on object '{object}' is invalid.";
    /// 8622: hints that no plan can follow.
    no_plan_for_hints() = 8622, 16, 1, "Query processor could not produce a query plan because of the hints defined in this query. Resubmit the query without specifying any hints and without using SET FORCEPLAN.";
    /// 13607: a path that is none.
    malformed_json_path(character: char, position: usize) = 13607, 16, 4, "JSON path is not properly formatted. Unexpected character '{character}' is found at position {position}.";
    /// 13608: a strict path leads nowhere.
    no_json_property() = 13608, 16, 5, "Property cannot be found on the specified JSON path.";
    /// 13609: a text that is not JSON.
    malformed_json(character: char, position: usize) = 13609, 16, 4, "JSON text is not properly formatted. Unexpected character '{character}' is found at position {position}.";
    /// 13623: a strict path leads to an object or array where a value is asked for.
    no_json_scalar() = 13623, 16, 1, "Scalar value cannot be found in the specified JSON path.";
    /// 13624: a strict path leads to a value where an object or array is asked for.
    no_json_object() = 13624, 16, 1, "Object or array cannot be found in the specified JSON path.";
    /// 13625: a strict path leads to a text of more than 4,000 characters.
    json_value_too_long() = 13625, 16, 1, "String value in the specified JSON path would be truncated.";
    /// 15135: an extended property of what is not there, or cannot have one.
    extended_property_not_permitted(object: &str) = 15135, 16, 8, "Object is invalid. Extended properties are not permitted on '{object}', or the object does not exist.";
    /// 15165: a module to be refreshed that does not exist.
    object_not_found_to_refresh(name: &str) = 15165, 16, 1, "Could not find object '{name}' or you do not have permission.";
    /// 8730: LAG or LEAD with an offset below 0.
    negative_offset() = 8730, 16, 1, "Offset parameter for Lag and Lead functions cannot be a negative value.";
    /// 9806: a part that the function takes of no type.
    datepart_never_supported(part: &str, function: &str) = 9806, 16, 0, "The datepart {part} is not supported by date function {function}.";
    /// 9810: a part of a date that its type does not have.
    datepart_not_supported(part: &str, function: &str, kind: &str) = 9810, 16, 1, "The datepart {part} is not supported by date function {function} for data type {kind}.";
    /// 155: no such datepart.
    unknown_datepart(part: &str, function: &str) = 155, 15, 1, "'{part}' is not a recognized {function} option.";
    /// 330: OUTPUT INTO a query.
    output_into_view(name: &str) = 330, 16, 1, "The target '{name}' of the OUTPUT INTO clause cannot be a view or common table expression.";
    /// 356: foreign keys of a table that takes the rows of a change.
    change_into_foreign_key(table: &str, constraint: &str) = 356, 16, 1, "The target table '{table}' of the INSERT statement cannot be on either side of a (primary key, foreign key) relationship when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement. Found reference constraint '{constraint}'.";
    /// 355: triggers of a table that takes the rows of a change.
    change_into_triggers(table: &str) = 355, 15, 1, "The target table '{table}' of the INSERT statement cannot have any enabled triggers when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement.";
    /// 354: a view that takes the rows of a change.
    change_into_query(target: &str) = 354, 15, 1, "The target '{target}' of the INSERT statement cannot be a view or common table expression when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement.";
    /// 5321, beside a change in FROM.
    function_beside_change(function: &str, clause: &str) = 5321, 16, 1, "The '{function}' function is not allowed in the {clause} clause when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement.";
    /// 5322, beside a change in FROM.
    aggregate_beside_change(clause: &str) = 5322, 16, 1, "An aggregate function is not allowed in the {clause} clause when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement.";
    /// 5323, beside a change in FROM.
    subquery_beside_change(clause: &str) = 5323, 15, 1, "Subqueries are not allowed in the {clause} clause when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement.";
    /// 10718, beside a change in FROM.
    clause_beside_change(clause: &str) = 10718, 15, 1, "The {clause} clause is not allowed when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement.";
    /// 332: OUTPUT INTO a table with foreign keys.
    output_into_foreign_key(table: &str, constraint: &str) = 332, 16, 1, "The target table '{table}' of the OUTPUT INTO clause cannot be on either side of a (primary key, foreign key) relationship. Found reference constraint '{constraint}'.";
    /// 15097: an extended property whose value is too long.
    extended_property_too_large() = 15097, 16, 1, "The size associated with an extended property cannot be more than 7,500 bytes.";
    /// 15217: an extended property that is not there.
    no_extended_property(name: &str, object: &str) = 15217, 16, 2, "Property cannot be updated or deleted. Property '{name}' does not exist for '{object}'.";
    /// 15233: an extended property that is there.
    extended_property_exists(name: &str, object: &str) = 15233, 16, 1, "Property cannot be added. Property '{name}' already exists for '{object}'.";
    /// 15600: arguments of a system procedure that do not go together.
    invalid_procedure_option(procedure: &str) = 15600, 15, 1, "An invalid parameter or option was specified for procedure '{procedure}'.";
    /// 40517: what is known and not done, as the parser says it. SQL Server's sentence ends "of SQL Server", which does all this.
    not_supported(what: &str) = 40517, 16, 1, "Keyword or statement option '{what}' is not supported in this version of vlflab.";
    /// 9829: STRING_AGG of strings that are not `max`.
    string_agg_too_long() = 9829, 16, 1, "STRING_AGG aggregation result exceeded the limit of 8000 bytes. Use LOB types to avoid result truncation.";
    /// 8631: the stack of the thread is used up.
    stack_limit() = 8631, 17, 1, "Internal error: Server stack limit has been reached. Please look for potentially deep nesting in your query, and try to simplify it.";
    /// 10703: more grouping sets than there may be.
    too_many_grouping_sets() = 10703, 15, 1, "Too many grouping sets. The maximum number is 4096.";
    /// 10706: more grouping expressions beside grouping sets than there may be.
    too_many_grouping_expressions() = 10706, 15, 1, "Too many expressions are specified in the GROUP BY clause. The maximum number is 32 when grouping sets are supplied.";
    /// 180: more parameters than a module may have.
    too_many_module_parameters(statement: &str) = 180, 15, 1, "There are too many parameters in this {statement} statement. The maximum number is 2100.";
    /// 1754: a default of the identity column.
    default_of_identity(table: &str, column: &str) = 1754, 16, 0, "Defaults cannot be created on columns with an IDENTITY attribute. Table '{table}', column '{column}'.";
    /// 1755: a default of a rowversion column.
    default_of_row_version(table: &str, column: &str) = 1755, 16, 0, "Defaults cannot be created on columns of data type timestamp. Table '{table}', column '{column}'.";
    /// 1761: SET NULL of a column that takes none.
    set_null_of_not_null(key: &str) = 1761, 16, 0, "Cannot create the foreign key \"{key}\" with the SET NULL referential action, because one or more referencing columns are not nullable.";
    /// 1762: SET DEFAULT of a column that has none and takes no NULL.
    set_default_without_default(key: &str) = 1762, 16, 0, "Cannot create the foreign key \"{key}\" with the SET DEFAULT referential action, because one or more referencing not-nullable columns lack a default constraint.";
    /// 1781: a second default of a column.
    default_is_there() = 1781, 16, 1, "Column already has a DEFAULT bound to it.";
    /// 1785: actions of foreign keys that meet a table twice.
    cascades_meet(key: &str, table: &str) = 1785, 16, 0, "Introducing FOREIGN KEY constraint '{key}' on table '{table}' may cause cycles or multiple cascade paths. Specify ON DELETE NO ACTION or ON UPDATE NO ACTION, or modify other FOREIGN KEY constraints.";
    /// 1788: an action that would set the identity column.
    cascade_to_identity(key: &str, table: &str, column: &str) = 1788, 16, 0, "Cascading foreign key '{key}' cannot be created where the referencing column '{table}.{column}' is an identity column.";
    /// 1904: more key columns than an index may have.
    too_many_key_columns(index: &str, table: &str, columns: usize, columns_max: usize) = 1904, 16, 1, "The index '{index}' on table '{table}' has {columns} columns in the key list. The maximum limit for index key column list is {columns_max}.";
    /// 1910: more nonclustered indexes than a table may have.
    too_many_indexes(index: &str, indexes_max: usize) = 1910, 16, 1, "Could not create nonclustered index '{index}' because it exceeds the maximum of {indexes_max} allowed per table or view.";
    /// 1944: all keys of an index would be too long.
    index_key_too_large(index: &str, bytes: usize, kind: &str, bytes_max: usize) = 1944, 16, 1, "Index '{index}' was not created because the index key size is at least {bytes} bytes. The {kind} index key size cannot exceed {bytes_max} bytes. If the index key includes implicit key columns, the index key size cannot exceed {bytes_max} bytes.";
    /// 1945: some keys of an index may be too long.
    index_key_may_be_too_large(kind: &str, bytes_max: usize, index: &str, bytes: usize) = 1945, 10, 1, "Warning! The maximum key length for a {kind} index is {bytes_max} bytes. The index '{index}' has maximum length of {bytes} bytes. For some combination of large values, the insert/update operation will fail.";
    /// 8632: more identifiers and constants in one expression than there may be.
    expression_limit() = 8632, 17, 2, "Internal error: An expression services limit has been reached. Please look for potentially complex expressions in your query, and try to simplify them.";
    /// 8623: a plan beyond what can be made.
    plan_too_complex() = 8623, 16, 1, "The query processor ran out of internal resources and could not produce a query plan. This is a rare event and only expected for extremely complex queries or queries that reference a very large number of tables or partitions. Please simplify the query. If you believe you have received this message in error, contact Customer Support Services for more information.";
    /// 1702: more than 1024 columns of a table.
    too_many_table_columns(column: &str, table: &str) = 1702, 16, 1, "CREATE TABLE failed because column '{column}' in table '{table}' exceeds the maximum of 1024 columns.";
    /// 2727: ALTER INDEX of an index that does not exist.
    no_such_index(name: &str) = 2727, 11, 1, "Cannot find index '{name}'.";
    /// 4917: ALTER TABLE CHECK CONSTRAINT of a constraint that does not exist.
    no_such_constraint(name: &str) = 4917, 16, 0, "Constraint '{name}' does not exist.";
    /// 2583: a DBCC with arguments missing.
    dbcc_argument_count() = 2583, 16, 3, "An incorrect number of parameters was given to the DBCC statement.";
    /// 8003: a call with more than 2100 parameters.
    too_many_parameters() = 8003, 16, 1, "The incoming request has too many parameters. The server supports a maximum of 2100 parameters. Reduce the number of parameters and resend the request.";
    /// 1056: more than 4096 columns of a result.
    too_many_select_columns() = 1056, 15, 1, "The number of elements in the select list exceeds the maximum allowed number of 4096 elements.";
    /// 1753: columns of a foreign key differ in length.
    foreign_key_lengths(referenced: &str, referenced_column: &str, table: &str, column: &str, key: &str) = 1753, 16, 0, "Column '{referenced}.{referenced_column}' is not the same length or scale as referencing column '{table}.{column}' in foreign key '{key}'. Columns participating in a foreign key relationship must be defined with the same length and scale.";
    /// 1756: a foreign key of a temporary table is left out.
    foreign_key_skipped(table: &str) = 1756, 10, 1, "Skipping FOREIGN KEY constraint '{table}' definition for temporary table. FOREIGN KEY constraints are not enforced on local or global temporary tables.";
    /// 1757: columns of a foreign key differ in collation.
    foreign_key_collations(referenced: &str, referenced_column: &str, table: &str, column: &str, key: &str) = 1757, 16, 0, "Column '{referenced}.{referenced_column}' is not of same collation as referencing column '{table}.{column}' in foreign key '{key}'.";
    /// 1763: a foreign key to another database.
    foreign_key_across_databases(key: &str) = 1763, 16, 0, "Cross-database foreign key references are not supported. Foreign key '{key}'.";
    /// 1766: a foreign key to a temporary table.
    foreign_key_to_temporary_table(key: &str) = 1766, 16, 0, "Foreign key references to temporary tables are not supported. Foreign key '{key}'.";
    /// 1767: a foreign key to no table.
    foreign_key_invalid_table(key: &str, table: &str) = 1767, 16, 0, "Foreign key '{key}' references invalid table '{table}'.";
    /// 1769: a foreign key of a column that its table has not.
    foreign_key_invalid_column(key: &str, column: &str, table: &str) = 1769, 16, 1, "Foreign key '{key}' references invalid column '{column}' in referencing table '{table}'.";
    /// 1770: a foreign key to a column that the other table has not.
    foreign_key_invalid_referenced_column(key: &str, column: &str, table: &str) = 1770, 16, 0, "Foreign key '{key}' references invalid column '{column}' in referenced table '{table}'.";
    /// 1773: a foreign key that lists no columns, to a table without a primary key.
    foreign_key_without_primary_key(key: &str, table: &str) = 1773, 16, 0, "Foreign key '{key}' has implicit reference to object '{table}' which does not have a primary key defined on it.";
    /// 1776: a foreign key to columns that are no key.
    foreign_key_without_key(table: &str, key: &str) = 1776, 16, 0, "There are no primary or candidate keys in the referenced table '{table}' that match the referencing column list in the foreign key '{key}'.";
    /// 1778: columns of a foreign key differ in type.
    foreign_key_types(referenced: &str, referenced_column: &str, table: &str, column: &str, key: &str) = 1778, 16, 0, "Column '{referenced}.{referenced_column}' is not the same data type as referencing column '{table}.{column}' in foreign key '{key}'.";
    /// 3725: DROP of a key that a foreign key needs.
    key_is_referenced(constraint: &str, table: &str, key: &str) = 3725, 16, 0, "The constraint '{constraint}' is being referenced by table '{table}', foreign key constraint '{key}'.";
    /// 3726: DROP of a table that a foreign key refers to.
    dropped_table_is_referenced(table: &str) = 3726, 16, 1, "Could not drop object '{table}' because it is referenced by a FOREIGN KEY constraint.";
    /// 4712: TRUNCATE of a table that a foreign key refers to.
    truncated_table_is_referenced(table: &str) = 4712, 16, 1, "Cannot truncate table '{table}' because it is being referenced by a FOREIGN KEY constraint.";
    /// 271: a computed column that is given a value.
    computed_is_not_set(column: &str) = 271, 16, 1, "The column \"{column}\" cannot be modified because it is either a computed column or is the result of a UNION operator.";
    /// 1711: a primary key of a computed column that is not stored, or may be NULL.
    primary_key_computed(column: &str, table: &str) = 1711, 16, 1, "Cannot define PRIMARY KEY constraint on column '{column}' in table '{table}'. The computed column has to be persisted and not nullable.";
    /// 1752: a default for a computed column.
    default_of_computed(column: &str, table: &str) = 1752, 16, 0, "Column '{column}' in table '{table}' is invalid for creating a default constraint.";
    /// 1759: a computed column that another one reads.
    computed_of_computed(column: &str, table: &str) = 1759, 16, 0, "Computed column '{column}' in table '{table}' is not allowed to be used in another computed-column definition.";
    /// 1764: a constraint that reads a computed column of which rows have nothing.
    constraint_of_virtual(column: &str, table: &str, constraint: &str) = 1764, 16, 1, "Computed Column '{column}' in table '{table}' is invalid for use in '{constraint}' because it is not persisted.";
    /// 2729: an index or statistics of what may be another each time.
    indexed_not_deterministic(column: &str, table: &str) = 2729, 16, 1, "Column '{column}' in table '{table}' cannot be used in an index or statistics or as a partition key because it is non-deterministic.";
    /// 2799: an index or statistics of approximate numbers that are computed.
    indexed_not_precise(index: &str, table: &str, column: &str) = 2799, 16, 1, "Cannot create index or statistics '{index}' on table '{table}' because the computed column '{column}' is imprecise and not persisted. Consider removing column from index or statistics key or marking computed column persisted.";
    /// 2761: ROWGUIDCOL of another type (state: the SqlServerSimulator project on SQL Server 2025).
    row_guid_type() = 2761, 16, 2, "The ROWGUIDCOL property can only be specified on the uniqueidentifier data type.";
    /// 8196: a second ROWGUIDCOL.
    several_row_guids() = 8196, 16, 1, "Duplicate column specified as ROWGUIDCOL.";
    /// 4936: PERSISTED of what may be another each time.
    computed_not_deterministic(column: &str, table: &str) = 4936, 16, 1, "Computed column '{column}' in table '{table}' cannot be persisted because the column is non-deterministic.";
    /// 8183: a constraint at a computed column of which rows have nothing.
    constraint_at_virtual() = 8183, 16, 1, "Only UNIQUE or PRIMARY KEY constraints can be created on computed columns, while CHECK, FOREIGN KEY, and NOT NULL constraints require that computed columns be persisted.";
    /// 10609: a filter that reads a computed column.
    filter_of_computed(kind: &str, index: &str, table: &str, column: &str) = 10609, 16, 1, "Filtered {kind} '{index}' cannot be created on table '{table}' because the column '{column}' in the filter expression is a computed column. Rewrite the filter expression so that it does not include this column.";
    /// 10611: a filter whose column would have to be converted.
    filter_of_higher_type(kind: &str, index: &str, table: &str, column: &str) = 10611, 16, 1, "Filtered {kind} '{index}' cannot be created on table '{table}' because the column '{column}' in the filter expression is compared with a constant of higher data type precedence or of a different collation. Converting a column to the data type of a constant is not supported for filtered {kind}. To resolve this error, explicitly convert the constant to the same data type and collation as the column '{column}'.";
    /// 10612: a filter whose constant cannot be converted.
    filter_not_convertible(kind: &str, index: &str, table: &str, column: &str) = 10612, 16, 1, "Filtered {kind} '{index}' cannot be created on table '{table}' because the column '{column}' in the filter expression is compared with a constant that cannot be converted to the data type of the column. Rewrite the filter expression so that it does not include this comparison.";
    /// 10620: a filter that compares with NULL.
    filter_compares_null(kind: &str, index: &str, table: &str) = 10620, 16, 1, "Filtered {kind} '{index}' cannot be created on table '{table}' because the filter expression contains a comparison with a literal NULL value. Rewrite the comparison to use the IS [NOT] NULL comparison operator to test for NULL values.";
    /// 10735: a filter that compares something else than a column with a constant.
    filter_incorrect(kind: &str, index: &str, table: &str) = 10735, 15, 1, "Incorrect WHERE clause for filtered {kind} '{index}' on table '{table}'.";
    /// 5074: a computed column that reads another column.
    column_depends_on_column(computed: &str, column: &str) = 5074, 16, 1, "The column '{computed}' is dependent on column '{column}'.";
    /// 5074: an index that has a column in its filter.
    index_depends_on_column(index: &str, column: &str) = 5074, 16, 1, "The index '{index}' is dependent on column '{column}'.";
    /// 4922: a column that something depends on is not changed.
    column_is_accessed(statement: &str, column: &str) = 4922, 16, 9, "ALTER TABLE {statement} COLUMN {column} failed because one or more objects access this column.";
    /// 5070: READ_COMMITTED_SNAPSHOT while others use the database, and nobody waits for them.
    users_in_database(name: &str) = 5070, 16, 2, "Database state cannot be changed while other users are using the database '{name}'";
    /// 5074: a column that something depends on.
    statistics_depend_on_column(statistics: &str, column: &str) = 5074, 16, 1, "The statistics '{statistics}' is dependent on column '{column}'.";
    /// 5074: a constraint, or a module that names it.
    depends_on_column(object: &str, column: &str) = 5074, 16, 1, "The object '{object}' is dependent on column '{column}'.";
    /// 8139: a foreign key lists other numbers of columns.
    foreign_key_column_counts(table: &str) = 8139, 16, 0, "Number of referencing columns in foreign key differs from number of referenced columns, table '{table}'.";
    /// 5021: ALTER DATABASE MODIFY NAME has worked.
    database_name_set(name: &str) = 5021, 10, 1, "The database name '{name}' has been set.";
    /// 35100: THROW of a number below 50000.
    throw_number_invalid(number: i64) = 35100, 16, 10, "Error number {number} in the THROW statement is outside the valid range. Specify an error number in the valid range of 50000 to 2147483647.";
    /// 10734: a variable that a query of a set operation is to fill.
    assignment_in_set_operation() = 10734, 15, 1, "Variable assignment is not allowed in a statement containing a top level UNION, INTERSECT or EXCEPT operator.";
    /// 10704: THROW without arguments outside of CATCH.
    throw_outside_catch() = 10704, 15, 1, "To rethrow an error, a THROW statement must be used inside a CATCH block. Insert the THROW statement inside a CATCH block, or add error parameters to the THROW statement.";
    /// 2743: a SET with a value of the wrong kind. Each option has a state of its own.
    set_option_requires(option: &str, kind: &str, state: u8) = 2743, 16, state, "SET {option} option requires {kind} parameter.";
    /// 313: a call of a function with fewer arguments than it has parameters; state 2 for a scalar function, 3 for one in FROM.
    insufficient_arguments(function: &str, state: u8) = 313, 16, state, "An insufficient number of arguments were supplied for the procedure or function {function}.";
    /// 443: what has an effect outside of the function it stands in.
    side_effecting_operator(operator: &str, state: u8) = 443, 16, state, "Invalid use of a side-effecting operator '{operator}' within a function.";
    /// 444: rows for the client from within a function.
    rows_from_function(state: u8) = 444, 16, state, "Select statements included within a function cannot return data to a client.";
    /// 1202: an application lock without a valid principal.
    no_database_principal(name: &str) = 1202, 16, 1, "The database-principal '{name}' does not exist or user is not a member.";
    /// 1223: an application lock is released that is not held.
    application_lock_not_held(principal: &str, resource: &str) = 1223, 16, 1, "Cannot release the application lock (Database Principal: '{principal}', Resource: '{resource}') because it is not currently held.";
    /// 3918: what asks for the transaction's locks, outside of one.
    no_user_transaction() = 3918, 16, 2, "The statement or function must be executed in the context of a user transaction.";
}

/// What a text that does not parse, or that says a word which is refused, fails with.
pub(crate) fn syntax(error: ParseError) -> Error {
    Error::new(error.number, error.severity, error.state, error.message)
}

/// What says why a key, or a foreign key, cannot be made.
const REASONS_OF_NO_CONSTRAINT: [i32; 23] = [
    1505, 1753, 1757, 1761, 1762, 1763, 1766, 1767, 1768, 1769, 1770, 1773, 1776, 1778, 1779, 1785, 1788, 1902, 1909,
    1911, 1913, 1919, 8111,
];

/// 1750 behind an error of CREATE TABLE, ALTER TABLE or CREATE TYPE that keeps a constraint from being made.
pub fn while_making_constraint(error: Error) -> Error {
    let is_name_taken = error.number == 2714 && error.state == Error::constraint_exists("").state;
    match is_name_taken || REASONS_OF_NO_CONSTRAINT.contains(&error.number) {
        true => error.followed_by(constraint_not_made()),
        false => error,
    }
}

/// What binding the query of a view can find: names that are not there any more, and columns that are.
const FAULTS_OF_VIEWS: [i32; 7] = [195, 207, 208, 209, 4104, 4121, 4502];

/// 4413 behind an error of the query of a view.
pub fn while_reading_view(error: Error, view: &str) -> Error {
    match FAULTS_OF_VIEWS.contains(&error.number) {
        true => error.followed_by(view_unusable(view)),
        false => error,
    }
}

/// 6401: no savepoint, and no transaction, of that name. The state tells an empty name apart.
pub fn no_such_savepoint(name: &str) -> Error {
    let state = if name.is_empty() { 2 } else { 1 };
    let text = format!("Cannot roll back {name}. No transaction or savepoint of that name was found.");
    Error::new(6401, 16, state, text)
}

/// 8115 raised by arithmetic rather than by a conversion.
pub fn expression_overflow(target: SqlType) -> Error {
    overflow_converting("expression", type_name(target))
}

/// The name of a type as errors spell it: `numeric` for every exact number.
pub fn type_name(sql_type: SqlType) -> &'static str {
    match sql_type {
        SqlType::Decimal { .. } => "numeric",
        other => other.name(),
    }
}

/// 6850: a name that xml has not.
pub fn xml_name_invalid(kind: &str, name: &str, fault: char) -> Error {
    let code = u32::from(fault);
    let text = format!(
        "{kind} '{name}' contains an invalid XML identifier as required by FOR XML; '{fault}'(0x{code:04X}) is the first character at fault."
    );
    Error::new(6850, 16, 1, text)
}
