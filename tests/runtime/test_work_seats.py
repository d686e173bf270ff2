"""Workers of one process share its seats."""

from __future__ import annotations

from asyncio import Event

from bbops.runtime.work.worker import Seats


def test_a_single_worker_may_take_every_seat() -> None:
    seats, busy = Seats(4), Event()
    assert seats.reserve(busy, 10) == 4
    assert seats.reserve(busy, 1) == 0


def test_a_worker_that_waits_is_woken_and_gets_its_share() -> None:
    seats, busy, late = Seats(4), Event(), Event()
    assert seats.reserve(busy, 4) == 4
    assert seats.reserve(late, 4) == 0
    assert not late.is_set()
    for got in (1, 2):
        seats.free(busy, 1)
        assert late.is_set()
        assert seats.reserve(busy, 1) == 0  # it has its share and more
        assert seats.reserve(late, 1) == 1
        assert seats.reserve(late, 4) == 0, got
    seats.free(busy, 1)
    assert seats.reserve(late, 4) == 0  # each has two
    assert seats.reserve(busy, 4) == 1


def test_every_project_gets_a_seat_though_there_are_more_projects_than_seats() -> None:
    seats, workers = Seats(3), [Event() for _ in range(7)]
    running = list[Event]()
    served = set[Event]()
    for _ in range(70):
        for worker in workers:
            running += [worker] * seats.reserve(worker, 5)
        assert len(running) <= 3
        served |= {*running}
        seats.free(running.pop(0), 1)
    assert served == {*workers}


def test_a_worker_without_more_jobs_keeps_no_seat_from_others() -> None:
    seats, busy, idle = Seats(4), Event(), Event()
    assert seats.reserve(busy, 4) == 4
    assert seats.reserve(idle, 4) == 0
    seats.free(busy, 2)
    assert seats.reserve(idle, 4) == 2
    seats.free(idle, 2)
    seats.stop_waiting(idle)  # it has found no job
    assert seats.reserve(busy, 4) == 2


def test_a_worker_that_ends_leaves_its_seats() -> None:
    seats, first, second = Seats(2), Event(), Event()
    assert seats.reserve(first, 2) == 2
    assert seats.reserve(second, 2) == 0
    seats.leave(first)
    assert second.is_set()
    assert seats.reserve(second, 2) == 2
