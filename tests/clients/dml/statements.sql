update Presentation_fast..vlftab set comment = upper(comment), name = upper(name), surname = upper(surname)
insert Presentation_fast..vlftab select comment, name, surname, dob, acc, joindate from Presentation_fast..vlftab_source
delete Presentation_slow..vlftab
