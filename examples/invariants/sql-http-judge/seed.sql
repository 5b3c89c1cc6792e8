CREATE TABLE orders (id INTEGER PRIMARY KEY, email TEXT NOT NULL, status TEXT NOT NULL);
INSERT INTO orders VALUES (17, 'ann@example.com', 'open'), (18, 'bob@example.com', 'open');
