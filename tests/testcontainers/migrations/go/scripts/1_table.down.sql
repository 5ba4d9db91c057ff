DROP TABLE migrate_customers;
