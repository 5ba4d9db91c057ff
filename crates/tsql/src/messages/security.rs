//! The errors of principals, permissions and owners. Texts follow "Database engine events and errors" (sql-docs).

engine::messages! { pub(crate) fn;
    /// 1020: columns of what has none, which shows once it was found.
    no_columns_to_permit() = 1020, 16, 3, "Sub-entity lists (such as column or security expressions) cannot be specified for entity-level permissions.";
    /// 4606: a permission that objects of this kind do not have.
    permission_not_of_object(name: &str) = 4606, 16, 1, "Granted or revoked privilege {name} is not compatible with object.";
    /// 4610: what is in another database.
    permission_on_other_database() = 4610, 16, 1, "You can only grant or revoke permissions on objects in the current database.";
    /// 4611: the grant option would go, and CASCADE is not said.
    cascade_needed() = 4611, 16, 1, "To revoke or deny grantable privileges, specify the CASCADE option.";
    /// 4613: a grantor that has no grant option.
    grantor_may_not() = 4613, 16, 1, "Grantor does not have GRANT permission.";
    /// 4615: a column that is not there.
    no_column_to_permit(name: &str) = 4615, 16, 1, "Invalid column name '{name}'.";
    /// 4617: a fixed role.
    grantee_is_special() = 4617, 16, 1, "Cannot grant, deny or revoke permissions to or from special roles.";
    /// 4619: CREATE DATABASE outside of master.
    create_database_outside_master() = 4619, 16, 1, "CREATE DATABASE permission can only be granted in the master database.";
    /// 4620: permissions of the server beside those of a database.
    permissions_of_two_scopes() = 4620, 16, 1, "All permissions in a grant/deny/revoke statement should be at the same scope (e.g., server or database)";
    /// 4621: permissions of the server outside of master.
    server_permission_outside_master() = 4621, 16, 10, "Permissions at the server scope can only be granted when the current database is master";
    /// 4623: ALL of a class that never had it.
    no_all_permission() = 4623, 16, 1, "The all permission has been deprecated and is not available for this class of entity";
    /// 4627: CONNECT for a role.
    connect_for_role() = 4627, 16, 1, "Cannot grant, deny, or revoke the connect database permission to roles and application roles.";
    /// 4629: what the system brings, outside of master.
    permission_on_server_scoped() = 4629, 16, 10, "Permissions on server scoped catalog views or system stored procedures or extended stored procedures can be granted only when the current database is master.";
    /// 15006: a backslash in the name of a user or role.
    invalid_principal_name(name: &str) = 15_006, 16, 1, "'{name}' is not a valid name because it contains invalid characters.";
    /// 15007: a login that is not there.
    no_such_login(name: &str) = 15_007, 16, 1, "'{name}' is not a valid login or you do not have permission.";
    /// 15008: a user that is not there, for procedures.
    no_such_user(name: &str) = 15_008, 16, 1, "User '{name}' does not exist in the current database.";
    /// 15014: a role that is not there, for procedures.
    no_such_role(name: &str) = 15_014, 11, 1, "The role '{name}' does not exist in the current database.";
    /// 15023: a name that is taken.
    principal_exists(name: &str, state: u8) = 15_023, 16, state, "User, group, or role '{name}' already exists in the current database.";
    /// 15063: a login that is a user already: `sa` is dbo.
    login_is_a_user() = 15_063, 16, 1, "The login already has an account under a different user name.";
    /// 15081: members of public.
    public_has_no_list() = 15_081, 16, 1, "Membership of the public role cannot be changed.";
    /// 15109: the owner of a system database.
    owner_of_system_database() = 15_109, 16, 1, "Cannot change the owner of the master, model, tempdb or distribution database.";
    /// 15138: what owns something is not dropped.
    principal_owns(what: &str) = 15_138, 16, 1, "The database principal owns a {what} in the database, and cannot be dropped.";
    /// 15144: a role with members.
    role_has_members() = 15_144, 16, 1, "The role has members. It must be empty before it can be dropped.";
    /// 15150: what is fixed.
    fixed_principal(verb: &str, kind: &str, name: &str) = 15_150, 16, 1, "Cannot {verb} the {kind} '{name}'.";
    /// 15151: what is not there.
    no_such_entity(verb: &str, kind: &str, name: &str) = 15_151, 16, 1, "Cannot {verb} the {kind} '{name}', because it does not exist or you do not have permission.";
    /// 15183: the owner of objects.
    principal_owns_objects() = 15_183, 16, 1, "The database principal owns objects in the database and cannot be dropped.";
    /// 15184: the owner of types.
    principal_owns_types() = 15_184, 16, 1, "The database principal owns data types in the database and cannot be dropped.";
    /// 15198: a name that no user or role has, for procedures.
    no_user_or_role(name: &str) = 15_198, 11, 1, "The name supplied ({name}) is not a user, role, or aliased login.";
    /// 15247: the owner of a type of the system.
    no_permission_to_do_that() = 15_247, 16, 1, "User does not have permission to perform this action.";
    /// 15284: a principal that has given permissions.
    principal_has_granted() = 15_284, 16, 1, "The database principal has granted or denied permissions to objects in the database and cannot be dropped.";
    /// 15330: nothing to report.
    no_rows_to_report() = 15_330, 11, 1, "There are no matching rows on which to report.";
    /// 15344: an owner of what has none to change.
    no_owner_to_change(kind: &str) = 15_344, 16, 1, "Ownership change for {kind} is not supported.";
    /// 15346: an owner of what its parent owns.
    owned_by_parent() = 15_346, 16, 1, "Cannot change owner for an object that is owned by a parent object. Change the owner of the parent object instead.";
    /// 15353: a role as the owner of a database.
    database_owned_by_role() = 15_353, 16, 1, "An entity of type database cannot be owned by a role, a group, an approle, or by principals mapped to certificates or asymmetric keys.";
    /// 15405: dbo as a member.
    special_principal(name: &str) = 15_405, 16, 1, "Cannot use the special principal '{name}'.";
    /// 15409: a name that no role has, for procedures.
    not_a_role(name: &str) = 15_409, 11, 1, "'{name}' is not a role.";
    /// 15410: a member that is not there, for procedures.
    no_user_or_role_here(name: &str) = 15_410, 11, 1, "User or role '{name}' does not exist in this database.";
    /// 15412: a name that no fixed role has, for procedures.
    not_a_fixed_role(name: &str) = 15_412, 11, 1, "'{name}' is not a known fixed role.";
    /// 15413: a role that would be within itself.
    role_within_itself() = 15_413, 16, 1, "Cannot make a role a member of itself.";
    /// 15421: the owner of a role.
    principal_owns_role() = 15_421, 16, 1, "The database principal owns a database role and cannot be dropped.";
    /// 15539: guest.
    guest_is_not_dropped() = 15_539, 16, 1, "User 'guest' cannot be dropped, it can only be disabled. The user is already disabled in the current database.";
    /// 16002: a data mask that is none.
    invalid_mask(column: &str) = 16_002, 16, 0, "Invalid data masking function in column '{column}'.";
    /// 16003: a mask of other types.
    mask_of_type(column: &str, function: &str) = 16_003, 16, 0, "The data type of column '{column}' does not support data masking function '{function}'.";
    /// 16004: too many arguments of a mask, or too few.
    mask_arguments(function: &str, column: &str) = 16_004, 16, 0, "Incorrect number of parameters for data masking function '{function}' for column '{column}'.";
    /// 16005: an argument that a mask does not take.
    invalid_mask_argument(function: &str, column: &str) = 16_005, 16, 0, "Invalid argument for data masking function '{function}' for column '{column}'.";
    /// 16006: a mask that is not a call.
    mask_format(function: &str, column: &str) = 16_006, 16, 0, "Invalid data masking format for function '{function}' in column '{column}'.";
    /// 16007: no mask to drop.
    column_has_no_mask(column: &str) = 16_007, 16, 0, "The column '{column}' does not have a data masking function.";
    /// 33016: a user without a login gets one.
    user_without_login_is_not_mapped() = 33_016, 16, 1, "The user cannot be remapped to a login. Remapping can only be done for users that were mapped to Windows or SQL logins.";
    /// 33233: a user with a password: no database is contained.
    no_contained_users() = 33_233, 16, 1, "You can only create a user with a password in a contained database.";
}

/// The texts of notices: 4624 for grantees that have every permission, 4628 for ALL.
pub(crate) const GRANTEE_HAS_ALL: &str =
    "Cannot grant, deny, or revoke permissions to sa, dbo, entity owner, information_schema, sys, or yourself.";
pub(crate) const ALL_IS_DEPRECATED: &str = "The ALL permission is deprecated and maintained only for compatibility. It DOES NOT imply ALL permissions defined on the entity.";
