/* What programs share that start threads and processes. */
#ifndef LIFE_H
#define LIFE_H

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "query.h"

static inline pthread_t started(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    REQUIRE("thread", pthread_create(&thread, NULL, body, argument) == 0);
    return thread;
}

/* Waits for a child that says with this exit status that all was well there. */
static inline void check_child(const char *row, pid_t child, int wanted)
{
    int status = -1;
    TRUE_IN(row, child > 0);
    if (child <= 0)
        return;
    TRUE_IN(row, waitpid(child, &status, 0) == child);
    EQUAL(row, "signal that ended the child", 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    EQUAL(row, "exit status of the child", wanted, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

#endif
