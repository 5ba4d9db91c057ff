//! The errors and messages of defaults and rules that are objects of their own, and of binding them.
//!
//! Words and severities are those of "Database Engine events and errors" (sql-docs); states are those that the SqlServerSimulator project
//! has seen of SQL Server 2025.

engine::messages! { pub(crate) fn;
    /// 160
    rule_without_variable() = 160, 15, 1, "Rule does not contain a variable.";
    /// 161
    rule_with_several_variables() = 161, 15, 1, "Rule contains more than one variable.";
    /// 513: a value that a rule does not allow.
    rule_violated(database: &str, table: &str, column: &str) = 513, 16, 0, "A column insert or update conflicts with a rule imposed by a previous CREATE RULE statement. The statement was terminated. The conflict occurred in database '{database}', table '{table}', column '{column}'.";
    /// 1710: a column of a table variable of a type that something is bound to.
    bound_type_in_variable(name: &str, kind: &str) = 1710, 16, 1, "Cannot use alias type with rule or default bound to it as a column type in table variable or return table definition in table valued function. Type '{name}' has a {kind} bound to it.";
    /// 3716: a default that is bound.
    bound_default_dropped(name: &str) = 3716, 16, 3, "The default '{name}' cannot be dropped because it is bound to one or more column.";
    /// 3716: a rule that is bound.
    bound_rule_dropped(name: &str) = 3716, 16, 1, "The rule '{name}' cannot be dropped because it is bound to one or more column.";
    /// 3717: DROP DEFAULT of a constraint.
    constraint_dropped_as_default() = 3717, 16, 1, "Cannot drop a default constraint by DROP DEFAULT statement. Use ALTER TABLE to drop a constraint default.";
    /// 4105: a function of the user in a rule.
    user_function_not_allowed() = 4105, 16, 3, "User-defined functions, partition functions, and column references are not allowed in expressions in this context.";
    /// 4185: something is to be bound to a type of the system.
    action_on_system_type() = 4185, 16, 1, "This action cannot be performed on a system type.";
    /// 15016: there is no such default.
    no_such_default(name: &str) = 15016, 16, 1, "The default '{name}' does not exist.";
    /// 15017: there is no such rule.
    no_such_rule(name: &str) = 15017, 16, 1, "The rule '{name}' does not exist.";
    /// 15049: the default of a column is a constraint.
    unbound_constraint(name: &str) = 15049, 11, 1, "Cannot unbind from '{name}'. Use ALTER TABLE DROP CONSTRAINT.";
    /// 15100: another word than `futureonly`.
    default_usage() = 15100, 16, 1, "Usage: sp_bindefault defaultname, objectname [, 'futureonly']";
    /// 15101: a column that no default is bound to.
    default_of_kind() = 15101, 16, 1, "Cannot bind a default to a computed column, a sparse column, or to a column of the following data types: timestamp, varchar(max), nvarchar(max), varbinary(max), xml, or CLR type.";
    /// 15102: the same of an identity column.
    default_bound_to_identity() = 15102, 16, 1, "Cannot bind a default to an identity column.";
    /// 15103: the same of a column with a DEFAULT constraint.
    default_bound_to_constraint() = 15103, 16, 1, "Cannot bind a default to a column created with or altered to have a default value.";
    /// 15106: another word than `futureonly`.
    rule_usage() = 15106, 16, 1, "Usage: sp_bindrule rulename, objectname [, 'futureonly']";
    /// 15107: a column that no rule is bound to.
    rule_of_kind() = 15107, 16, 1, "Cannot bind a rule to a computed column, a sparse column, or to a column of the following data types: text, ntext, image, timestamp, varchar(max), nvarchar(max), varbinary(max), xml, or user-defined data type.";
    /// 15148: neither a column nor a type.
    nothing_to_bind_to(name: &str) = 15148, 16, 1, "The data type or table column '{name}' does not exist or you do not have permission.";
    /// 15151 of ALTER SCHEMA: no object of that name.
    cannot_find_to_transfer(name: &str) = 15151, 16, 1, "Cannot find the object '{name}', because it does not exist or you do not have permission.";
    /// 15151 of ALTER SCHEMA: no schema of that name.
    cannot_alter_schema(name: &str) = 15151, 16, 1, "Cannot alter the schema '{name}', because it does not exist or you do not have permission.";
    /// 15236: no default is bound to a column.
    column_without_default(name: &str) = 15236, 16, 1, "Column '{name}' has no default.";
    /// 15237: no default is bound to a type.
    type_without_default(name: &str) = 15237, 16, 1, "User data type '{name}' has no default.";
    /// 15238: no rule is bound to a column.
    column_without_rule(name: &str) = 15238, 16, 1, "Column '{name}' has no rule.";
    /// 15239: no rule is bound to a type.
    type_without_rule(name: &str) = 15239, 16, 1, "User data type '{name}' has no rule.";
    /// 15347: a trigger goes with its table alone.
    transfer_of_owned() = 15347, 16, 1, "Cannot transfer an object that is owned by a parent object.";
    /// 15348
    transfer_of_schema_bound() = 15348, 16, 1, "Cannot transfer a schemabound object.";
    /// 15530
    transfer_to_taken_name(name: &str) = 15530, 16, 1, "The object with name \"{name}\" already exists.";
}
