//! The errors of marked transactions and of restores that stop at a mark (sql-docs, "Database Engine events and errors"; when 3901 and 3920 come: the
//! SqlServerSimulator project has probed it on SQL Server 2025. The other states are not documented).

engine::messages! { pub(crate) fn;
    /// 3031: options that exclude each other.
    options_conflict(option: &str, other: &str) = 3031, 16, 1, "Option '{option}' conflicts with option(s) '{other}'. Remove the conflicting option and reissue the statement.";
    /// 3901: WITH MARK of a transaction without a name.
    mark_without_name() = 3901, 16, 1, "The transaction name must be specified when it is used with the mark option.";
    /// 3920: WITH MARK in a transaction that has a mark.
    marked_already() = 3920, 10, 1, "The WITH MARK option only applies to the first BEGIN TRAN WITH MARK statement. The option is ignored.";
}
