//! Why a view cannot be indexed (sql-docs, "Database Engine events and errors", 1000 to 1999, 8000 to 8999 and 10000 to 10999; the numbers
//! from 10100 to 10148 as SQL Server 2025 answers them).

engine::messages! { pub(crate) fn;
    /// 1901: a float in the key.
    imprecise_view_key(index: &str, view: &str, column: &str) = 1901, 16, 1, "Cannot create index or statistics '{index}' on view '{view}' because key column '{column}' is imprecise, computed and not persisted. Consider removing reference to column in view index or statistics key or changing column to be precise. If column is computed in base table consider marking it PERSISTED there.";
    /// 1902: a second clustered index.
    several_clustered_on_view(view: &str, index: &str) = 1902, 16, 3, "Cannot create more than one clustered index on view '{view}'. Drop the existing clustered index '{index}' before creating another.";
    /// 1934: a statement under settings by which computed values would be others.
    wrong_settings(statement: &str, options: &str) = 1934, 16, 1, "{statement} failed because the following SET options have incorrect settings: '{options}'. Verify that SET options are correct for use with indexed views and/or indexes on computed columns and/or filtered indexes and/or query notifications and/or XML data type methods and/or spatial index operations.";
    /// 1935: a view made under other settings.
    made_under_wrong_settings(object: &str, options: &str) = 1935, 16, 1, "Cannot create index. Object '{object}' was created with the following SET options off: '{options}'.";
    /// 1937: a view over a view.
    view_of_view(view: &str, other: &str) = 1937, 16, 1, "Cannot create index on view '{view}' because it references another view '{other}'. Consider expanding referenced view's definition by hand in indexed view definition.";
    /// 1939
    view_not_schema_bound(view: &str) = 1939, 16, 1, "Cannot create index on view '{view}' because the view is not schema bound.";
    /// 1940: another index before the unique clustered one.
    view_without_clustered(view: &str) = 1940, 16, 1, "Cannot create index on view '{view}'. It does not have a unique clustered index.";
    /// 1941
    view_clustered_not_unique(view: &str) = 1941, 16, 1, "Cannot create nonunique clustered index on view '{view}' because only unique clustered indexes are allowed. Consider creating unique clustered index instead.";
    /// 1942: columns of text, ntext, image or xml.
    view_with_large_columns(view: &str) = 1942, 16, 1, "Cannot create index on view '{view}'. It contains text, ntext, image, FILESTREAM or xml columns.";
    /// 1947
    view_with_self_join(view: &str, table: &str) = 1947, 16, 1, "Cannot create index on view \"{view}\". The view contains a self join on \"{table}\".";
    /// 1949
    view_not_deterministic(view: &str, function: &str) = 1949, 16, 1, "Cannot create index on view '{view}'. The function '{function}' yields nondeterministic results. Use a deterministic system function, or modify the user-defined function to return deterministic results.";
    /// 1956
    view_of_nondeterministic_function(view: &str, function: &str) = 1956, 16, 1, "Cannot create index on the '{view}' view because it uses the nondeterministic user-defined function '{function}'. Remove the reference to the function, or make it deterministic.";
    /// 1962
    view_condition_imprecise(view: &str, column: &str) = 1962, 16, 1, "Cannot create index on view '{view}' because column '{column}' that is referenced by the view in the WHERE or GROUP BY clause is imprecise. Consider eliminating the column from the view, or altering the column to be precise.";
    /// 1963
    view_conversion_not_deterministic(view: &str) = 1963, 16, 1, "Cannot create index on view \"{view}\". The view contains a convert that is imprecise or non-deterministic.";
    /// 1964
    view_constant_imprecise(view: &str) = 1964, 16, 1, "Cannot create index on view \"{view}\". The view contains an imprecise constant.";
    /// 1965
    view_arithmetic_imprecise(view: &str) = 1965, 16, 1, "Cannot create index on view \"{view}\". The view contains an imprecise arithmetic operator.";
    /// 1966: SUM of float.
    view_aggregate_imprecise(view: &str) = 1966, 16, 1, "Cannot create index on view '{view}'. The view contains an imprecise aggregate operator.";
    /// 1990
    view_index_ignores_duplicates() = 1990, 16, 1, "Cannot define an index on a view with ignore_dup_key index option. Remove ignore_dup_key option and verify that view definition does not allow duplicates, or do not index view.";
    /// 1998
    view_index_disabled(index: &str, view: &str, table: &str, by: &str) = 1998, 10, 1, "Warning: Clustered index '{index}' on view '{view}' referencing table '{table}' was disabled as a result of disabling the index '{by}'.";
    /// 8660
    grouping_column_not_selected(index: &str, view: &str) = 8660, 16, 0, "Cannot create the clustered index \"{index}\" on view \"{view}\" because the select list of the view definition does not include all columns in the GROUP BY clause. Consider adding these columns to the select list.";
    /// 8661
    key_not_grouped(index: &str, view: &str) = 8661, 16, 0, "Cannot create the clustered index \"{index}\" on view \"{view}\" because the index key includes columns that are not in the GROUP BY clause. Consider eliminating columns that are not in the GROUP BY clause from the index key.";
    /// 8662
    view_sums_nullable(index: &str, view: &str) = 8662, 16, 0, "Cannot create the clustered index \"{index}\" on view \"{view}\" because the view references an unknown value (SUM aggregate of nullable expression). Consider referencing only non-nullable values in SUM. ISNULL() may be useful for this.";
    /// 8668
    view_computes_with_groups(index: &str, view: &str) = 8668, 16, 0, "Cannot create the clustered index '{index}' on view '{view}' because the select list of the view contains an expression on result of aggregate function or grouping column. Consider removing expression on result of aggregate function or grouping column from select list.";
    /// 10100
    view_is_distinct(view: &str) = 10100, 16, 1, "Cannot create index on view \"{view}\" because it contains the DISTINCT keyword. Consider removing DISTINCT from the view or not indexing the view. Alternatively, consider replacing DISTINCT with GROUP BY or COUNT_BIG(*) to simulate DISTINCT on grouping columns.";
    /// 10101
    view_has_top(view: &str) = 10101, 16, 1, "Cannot create index on view \"{view}\" because it contains the TOP or OFFSET keyword. Consider removing the TOP or OFFSET or not indexing the view.";
    /// 10105
    view_has_open_xml(view: &str) = 10105, 16, 1, "Cannot create index on view \"{view}\" because it uses the OPENXML rowset provider. Consider removing OPENXML or not indexing the view.";
    /// 10109
    view_has_derived_table(view: &str, table: &str) = 10109, 16, 1, "Cannot create index on view \"{view}\" because it references derived table \"{table}\" (defined by SELECT statement in FROM clause). Consider removing the reference to the derived table or not indexing the view.";
    /// 10110
    view_has_outer_apply(view: &str) = 10110, 16, 1, "Cannot create index on view \"{view}\" because it contains an OUTER APPLY. Consider not indexing the view, or removing OUTER APPLY.";
    /// 10112
    view_has_join_hint(view: &str) = 10112, 16, 1, "Cannot create index on view '{view}' because it contains an INNER join that specifies a join hint. Consider removing the join hint.";
    /// 10113
    view_has_outer_join(view: &str) = 10113, 16, 1, "Cannot create index on view \"{view}\" because it uses a LEFT, RIGHT, or FULL OUTER join, and no OUTER joins are allowed in indexed views. Consider using an INNER join instead.";
    /// 10114
    view_has_pivot(view: &str) = 10114, 16, 1, "Cannot create index on view \"{view}\" because it uses the PIVOT operator. Consider not indexing this view.";
    /// 10115
    view_has_unpivot(view: &str) = 10115, 16, 1, "Cannot create index on view \"{view}\" because it uses the UNPIVOT operator. Consider not indexing this view.";
    /// 10116
    view_has_set_operator(view: &str) = 10116, 16, 1, "Cannot create index on view '{view}' because it contains one or more UNION, INTERSECT, or EXCEPT operators. Consider creating a separate indexed view for each query that is an input to the UNION, INTERSECT, or EXCEPT operators of the original view.";
    /// 10119
    view_has_rollup(view: &str) = 10119, 16, 1, "Cannot create index on view \"{view}\" because it contains a CUBE, ROLLUP, or GROUPING SETS operator. Consider not indexing this view.";
    /// 10121
    view_has_having(view: &str) = 10121, 16, 1, "Cannot create index on view \"{view}\" because it contains a HAVING clause. Consider removing the HAVING clause.";
    /// 10125
    view_has_aggregate(view: &str, aggregate: &str) = 10125, 16, 1, "Cannot create index on view \"{view}\" because it uses aggregate \"{aggregate}\". Consider eliminating the aggregate, not indexing the view, or using alternate aggregates. For example, for AVG substitute SUM and COUNT_BIG, or for COUNT, substitute COUNT_BIG.";
    /// 10126
    view_has_distinct_aggregate(view: &str, aggregate: &str) = 10126, 16, 1, "Cannot create index on view \"{view}\" because it uses aggregate \"{aggregate}\" with the DISTINCT keyword. Consider not indexing this view or eliminating DISTINCT. Consider use of a GROUP BY or COUNT_BIG(*) view to simulate DISTINCT on grouping columns.";
    /// 10127
    view_has_subquery(view: &str) = 10127, 16, 1, "Cannot create index on view \"{view}\" because it contains one or more subqueries. Consider changing the view to use only joins instead of subqueries. Alternatively, consider not indexing this view.";
    /// 10129
    view_has_table_function(view: &str, function: &str) = 10129, 16, 1, "Cannot create index on view \"{view}\" because it references the inline or multistatement table-valued function \"{function}\". Consider expanding the function definition by hand in the view definition, or not indexing the view.";
    /// 10136
    view_has_count(view: &str) = 10136, 16, 1, "Cannot create index on view \"{view}\" because it uses the aggregate COUNT. Use COUNT_BIG instead.";
    /// 10137
    view_has_common_table(view: &str, table: &str) = 10137, 16, 1, "Cannot create index on view \"{view}\" because it references common table expression \"{table}\". Views referencing common table expressions cannot be indexed. Consider not indexing the view, or removing the common table expression from the view definition.";
    /// 10138
    view_without_count_big(view: &str) = 10138, 16, 1, "Cannot create index on view '{view}' because its select list does not include a proper use of COUNT_BIG. Consider adding COUNT_BIG(*) to select list.";
    /// 10139
    view_converts_implicitly(view: &str) = 10139, 16, 1, "Cannot create index on view '{view}' because the view uses an implicit conversion from string to datetime or smalldatetime. Use an explicit CONVERT with a deterministic style value.";
    /// 10140
    view_has_table_hint(view: &str) = 10140, 16, 1, "Cannot create index on view '{view}' because the view contains a table hint. Consider removing the hint.";
    /// 10142
    view_has_apply(view: &str) = 10142, 16, 1, "Cannot create index on view \"{view}\" because it contains an APPLY. Consider not indexing the view, or removing APPLY.";
    /// 10143
    view_has_window(view: &str) = 10143, 16, 1, "Cannot create index on view \"{view}\" because it contains a ranking or aggregate window function. Remove the function from the view definition or, alternatively, do not index the view.";
    /// 10610: an index with WHERE on a view.
    filtered_index_on_view(index: &str, view: &str) = 10610, 16, 1, "Filtered index '{index}' cannot be created on object '{view}' because it is not a user table. Filtered indexes are only supported on tables. If you are trying to create a filtered index on a view, consider creating an indexed view with the filter expression incorporated in the view definition.";
}
