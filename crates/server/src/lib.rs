//! The listener, login and session loop: where TDS meets T-SQL.
