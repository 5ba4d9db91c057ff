CREATE TABLE orders (
    id int IDENTITY CONSTRAINT pk_orders PRIMARY KEY,
    customer nvarchar(50) NOT NULL,
    total decimal(9, 2) NOT NULL CONSTRAINT ck_total CHECK (total >= 0),
    made datetime2 NOT NULL CONSTRAINT df_made DEFAULT SYSUTCDATETIME()
);
GO
CREATE INDEX by_customer ON orders (customer) INCLUDE (total);
GO
CREATE VIEW totals AS SELECT customer, SUM(total) AS total FROM orders GROUP BY customer;
