-- How many of the record and its line there are (renew does not declare the line), and whether the line is: a kind finds
-- that out with what it reads of the record.
there = line and redis.call('EXISTS', record, line)
waited_for = there == 2
