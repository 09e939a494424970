#ifndef STACK_H
#define STACK_H

#define STACK_ROOM 16

struct stack {
    int items[STACK_ROOM];
    int count;
};

/* Puts a number on top; 0 when there is no room. */
int stack_push(struct stack *stack, int number);
int stack_pop(struct stack *stack);

#endif
