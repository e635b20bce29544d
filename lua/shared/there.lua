-- How many of the record and its queue there are (renew does not declare the queue), and whether the queue is: a kind
-- finds that out with what it reads of the record.
there = queue and redis.call('EXISTS', record, queue)
waited_for = there == 2
