/* Other programs, as a shell would start them. */
#include "bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int command_start(const command *c)
{
    posix_spawn_file_actions_t actions;
    char *argv[MAX_ARGS + 1] = {0};
    pid_t pid;
    for (size_t i = 0; i < MAX_ARGS && c->argv[i]; i++)
        argv[i] = strdup(c->argv[i]); /* posix_spawn wants what it does not change to be changeable */
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int status = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    for (size_t i = 0; argv[i]; i++)
        free(argv[i]);
    return status == 0 ? pid : -1;
}

/* 1 is an answer, as of diff: there are differences. */
bool command_run(void *arg)
{
    int status, pid = command_start(arg);
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) <= 1;
}

bool command_exists(const char *program)
{
    char line[TEXT];
    snprintf(line, sizeof line, "command -v %s > /dev/null 2>&1", program);
    return system(line) == 0;
}

bool command_lines(const char *line, void (*fn)(const char *line, void *arg), void *arg)
{
    char text[2 * TEXT];
    FILE *f = popen(line, "r");
    if (!f) return false;
    while (fgets(text, sizeof text, f))
        fn(text, arg);
    return pclose(f) == 0;
}

static void first_line(const char *line, void *arg)
{
    char *out = arg;
    if (*out == 0) snprintf(out, TEXT, "%.*s", (int)strcspn(line, "\n"), line);
}

void command_version(const char *line, char out[TEXT])
{
    *out = 0;
    command_lines(line, first_line, out);
}
