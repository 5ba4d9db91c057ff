create table dbo.vlftab (id int identity not null, comment varchar(8000) not null, name varchar(20) not null,
    surname varchar(40) not null, dob date not null, acc int not null, joindate datetime not null)
