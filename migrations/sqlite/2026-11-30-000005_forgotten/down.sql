DROP TABLE books_forgotten;
