//! The errors of types of the common language runtime: `hierarchyid`, `geometry`, `geography`.

engine::messages! { pub(crate) fn;
    /// 249: values that ORDER BY and GROUP BY do not compare.
    clause_needs_order(kind: &str, clause: &str) = 249, 16, 1, "The type \"{kind}\" is not comparable. It cannot be used in the {clause} clause.";
    /// 403: arithmetic on a type that has none.
    no_operator_for_type(operator: &str, kind: &str) = 403, 16, 1, "Invalid operator for data type. Operator equals {operator}, type equals {kind}.";
    /// 6506: a method that the type does not have; names tell case.
    method_not_found(method: &str, class: &str) = 6506, 16, 10, "Could not find method '{method}' for type 'Microsoft.SqlServer.Types.{class}' in assembly 'Microsoft.SqlServer.Types'";
    /// 6522: what a method of `SqlHierarchyId` throws.
    hierarchy_exception(words: &str, method: &str) = 6522, 16, 2, "A .NET Framework error occurred during execution of user-defined routine or aggregate \"hierarchyid\": \r\nMicrosoft.SqlServer.Types.HierarchyIdException: {words}\r\nMicrosoft.SqlServer.Types.HierarchyIdException: \r\n   at Microsoft.SqlServer.Types.SqlHierarchyId.{method}\r\n.";
    /// 6522: what a method of `SqlGeometry` or `SqlGeography` throws.
    spatial_exception(kind: &str, exception: &str, words: &str) = 6522, 16, 1, "A .NET Framework error occurred during execution of user-defined routine or aggregate \"{kind}\": \r\n{exception}: {words}\r\n{exception}: \r\n.";
    /// 6569: NULL for an argument that takes none.
    method_argument_null(kind: &str, method: &str, ordinal: usize) = 6569, 16, 1, "'{kind}::{method}' failed because parameter {ordinal} is not allowed to be null.";
    /// 6592: a property that the type does not have; names tell case.
    property_not_found(property: &str, class: &str) = 6592, 16, 3, "Could not find property or field '{property}' for type 'Microsoft.SqlServer.Types.{class}' in assembly 'Microsoft.SqlServer.Types'.";
    /// 6210: MIN or MAX of a type without an order.
    not_fully_comparable(kind: &str) = 6210, 16, 1, "CLR type '{kind}' is not fully comparable.";
    /// 2748: what RAISERROR puts into no text.
    no_substitution_parameter(kind: &str, place: usize) = 2748, 16, 1, "Cannot specify {kind} data type (parameter {place}) as a substitution parameter.";
    /// 6865
    clr_type_in_xml() = 6865, 16, 1, "FOR XML does not support CLR types - cast CLR types explicitly into one of the supported types in FOR XML queries.";
    /// 13604
    clr_type_in_json() = 13604, 16, 1, "FOR JSON cannot serialize CLR objects. Cast CLR types explicitly into one of the supported types in FOR JSON queries.";
}
