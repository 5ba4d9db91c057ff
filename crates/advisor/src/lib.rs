//! From a log's layout to findings, plans and T-SQL text. Pure.
