ALTER TABLE orders ADD note nvarchar(max) NULL;
GO
CREATE PROCEDURE add_order @customer nvarchar(50), @total decimal(9, 2) AS
INSERT orders (customer, total) VALUES (@customer, @total);
GO
UPDATE orders SET note = N'old' WHERE note IS NULL;
