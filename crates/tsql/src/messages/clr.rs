//! The errors of types of the common language runtime: `hierarchyid`.

engine::messages! { pub(crate) fn;
    /// 403: arithmetic on a type that has none.
    no_operator_for_type(operator: &str, kind: &str) = 403, 16, 1, "Invalid operator for data type. Operator equals {operator}, type equals {kind}.";
    /// 6506: a method that the type does not have; names tell case.
    method_not_found(method: &str) = 6506, 16, 10, "Could not find method '{method}' for type 'Microsoft.SqlServer.Types.SqlHierarchyId' in assembly 'Microsoft.SqlServer.Types'";
    /// 6522: what a method of `SqlHierarchyId` throws.
    hierarchy_exception(words: &str, method: &str) = 6522, 16, 2, "A .NET Framework error occurred during execution of user-defined routine or aggregate \"hierarchyid\": \r\nMicrosoft.SqlServer.Types.HierarchyIdException: {words}\r\nMicrosoft.SqlServer.Types.HierarchyIdException: \r\n   at Microsoft.SqlServer.Types.SqlHierarchyId.{method}\r\n.";
    /// 6865
    clr_type_in_xml() = 6865, 16, 1, "FOR XML does not support CLR types - cast CLR types explicitly into one of the supported types in FOR XML queries.";
    /// 13604
    clr_type_in_json() = 13604, 16, 1, "FOR JSON cannot serialize CLR objects. Cast CLR types explicitly into one of the supported types in FOR JSON queries.";
}
